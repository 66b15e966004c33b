//! The real binary, run on a workspace of the model beside the handle that this process has open.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::case::Kill;
use super::world::{World, ensure, text};

/// What the binary answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) json: Value,
}

impl World<'_> {
    /// Runs it, with the rules that the open handle has; `None`: it was killed.
    pub(crate) fn ckpt(&mut self, words: &[OsString], kill: Kill) -> Result<Option<Answer>, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ckpt"));
        command.arg("-w").arg(&self.root).arg("--json").args(words);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.place.join("home"));
        command.current_dir(if self.root.exists() { &self.root } else { self.place });
        let max_file_bytes = self.case.max_file_bytes.to_string();
        let settings = [
            ("CHECKPOINT_DIR", self.place.join("c").into_os_string()),
            ("DURABILITY", "none".into()),
            ("EXCLUDE", format!("{:?}", self.exclude).into()),
            ("MAX_FILE_BYTES", max_file_bytes.into()),
            ("THREADS", "1".into()),
        ];
        command.envs(settings.map(|(key, value)| (format!("FABRICATIO_CHECKPOINT__{key}"), value)));
        if let Some(step) = kill {
            command.env("CKPT_FAULT_AT", step.to_string()).env("CKPT_FAULT_DO", "kill");
        }
        let output = command.stdin(Stdio::null()).output().map_err(text)?;
        self.counts.note("run of the binary");
        if output.status.signal() == Some(9) && kill.is_some() {
            self.counts.note("kill");
            return Ok(None);
        }
        let told = String::from_utf8_lossy(&output.stderr);
        ensure(told.is_empty(), || format!("{words:?}: {told}"))?;
        let json = serde_json::from_slice(&output.stdout).map_err(|err| format!("{words:?}: {err}: {output:?}"))?;
        let code = output.status.code().ok_or_else(|| format!("{words:?}: {output:?}"))?;
        Ok(Some(Answer { code, json }))
    }

    /// Runs it, and expects that it fails with this code of an error.
    pub(crate) fn refuses(&mut self, words: &[&str], error: &str) -> Result<(), String> {
        let typed: Vec<OsString> = words.iter().map(Into::into).collect();
        let answer = self.ckpt(&typed, None)?.ok_or("nobody killed it")?;
        let is_refused = answer.code == 1 && answer.json["error"]["code"] == error;
        ensure(is_refused, || format!("{words:?} should fail with {error}: {answer:?}"))
    }
}
