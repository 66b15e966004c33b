//! The object that a command prints with `--json`: what stands in all of them, and the one about a failure.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Serialize;

use crate::errors::Failure;
use crate::json::{JsonPath, base64_if_not_utf8, lossy};

/// What stands in every object.
#[derive(Serialize)]
pub(crate) struct Envelope<'a, T> {
    schema: &'a str,
    workspace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_base64: Option<String>,
    warnings: &'a [Warning],
    #[serde(flatten)]
    body: T,
}

impl<'a, T> Envelope<'a, T> {
    /// Puts `body` into its envelope.
    pub(crate) fn new(schema: &'a str, workspace: Option<&Path>, warnings: &'a [Warning], body: T) -> Self {
        let workspace = workspace.map(|path| path.as_os_str().as_bytes());
        Self {
            schema,
            workspace: workspace.map(lossy),
            workspace_base64: workspace.and_then(base64_if_not_utf8),
            warnings,
            body,
        }
    }
}

/// Something worth saying beside a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Warning {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

/// The body of `ckpt.error/1`.
#[derive(Serialize)]
pub(crate) struct ErrorBody<'a> {
    error: ErrorFields<'a>,
}

#[derive(Serialize)]
struct ErrorFields<'a> {
    code: &'a str,
    message: &'a str,
    causes: &'a [String],
    hint: Option<&'a str>,
    #[serde(flatten)]
    path: Option<JsonPath>,
}

impl<'a> ErrorBody<'a> {
    /// Takes what is told of a failure.
    pub(crate) fn of(failure: &'a Failure) -> Self {
        Self {
            error: ErrorFields {
                code: failure.code,
                message: &failure.message,
                causes: &failure.causes,
                hint: failure.hint.as_deref(),
                path: failure.path.as_deref().map(JsonPath::absolute),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_begins_with_its_schema_and_is_flat() {
        let body = serde_json::json!({"id": "x"});
        let line = serde_json::to_string(&Envelope::new("ckpt.save/1", Some(Path::new("/w")), &[], body)).unwrap();
        assert_eq!(line, r#"{"schema":"ckpt.save/1","workspace":"/w","warnings":[],"id":"x"}"#);
    }

    #[test]
    fn an_error_names_its_path_only_if_it_has_one() {
        let failure = Failure::new("io", "cannot x").hint("do y");
        let line = serde_json::to_string(&failure.body()).unwrap();
        assert_eq!(line, r#"{"error":{"code":"io","message":"cannot x","causes":[],"hint":"do y"}}"#);
        let failure = failure.at(Path::new("/p"));
        assert!(serde_json::to_string(&failure.body()).unwrap().contains(r#","path":"/p"}"#));
    }
}
