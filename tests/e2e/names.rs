//! Names of all kinds: what a file system takes, a checkpoint keeps and output can tell.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::sandbox::{Sandbox, assert_same};

fn names() -> Vec<OsString> {
    let mut names: Vec<OsString> = [
        "日本.txt",
        "a\"b",
        "tab\there",
        "line\nbreak",
        "back\\slash",
        " blank ",
        "-dash",
        "*",
        "~",
        "#x",
        "é",
        "e\u{301}",
    ]
    .map(OsString::from)
    .to_vec();
    names.push(OsString::from_vec(vec![0xff, 0xfe]));
    names.push(OsString::from_vec(vec![b'x'; 255]));
    names.push(OsString::from_vec((1..=255).filter(|byte| *byte != b'/').collect()));
    names
}

#[test]
fn odd_names_are_kept_c1() {
    let sandbox = Sandbox::new();
    for name in names() {
        sandbox.write(&name, "one");
        sandbox.write(PathBuf::from(OsStr::new("dir")).join(&name).join("inner"), "inner one");
    }
    let before = sandbox.tree();
    let first = sandbox.save("names");
    for name in names() {
        sandbox.write(&name, "two");
        sandbox.remove(PathBuf::from("dir").join(&name));
    }
    sandbox.save("edited");
    let _ = sandbox.ckpt(&format!("reset {first}")).ok();
    assert_same(&before, &sandbox.tree());
    assert!(sandbox.is_clean());
}

#[test]
fn json_names_every_path_so_that_it_can_be_read_back_c1() {
    let sandbox = Sandbox::new();
    sandbox.save("empty");
    for name in names() {
        sandbox.write(&name, "one");
    }
    let status = sandbox.ckpt("status --json").ok().json();
    let listed = status.to_string();
    for name in names() {
        match name.to_str() {
            Some(text) => {
                let quoted = serde_json::to_string(text).unwrap();
                assert!(listed.contains(&quoted), "{quoted} is not in {listed}");
            }
            None => {
                use base64::Engine;
                let encoded = base64::engine::general_purpose::STANDARD.encode(name.as_bytes());
                assert!(listed.contains(&format!("\"path_base64\":\"{encoded}\"")), "{encoded} is not in {listed}");
            }
        }
    }
}

#[test]
fn text_shows_no_control_characters_c1() {
    let sandbox = Sandbox::new();
    sandbox.save("empty");
    sandbox.write("esc\u{1b}[31m", "x");
    sandbox.write("line\nbreak", "x");
    let output = sandbox.ckpt("status").ok();
    assert!(!output.all().contains('\u{1b}'), "{output}");
    assert_eq!(output.all().matches("break").count(), output.all().matches("line\\nbreak").count(), "{output}");
}

#[test]
fn names_that_look_like_options_stand_after_two_dashes() {
    let sandbox = Sandbox::new();
    sandbox.write("--help", "one");
    sandbox.save("first");
    sandbox.write("--help", "two");
    let _ = sandbox.ckpt("rollback HEAD -- --help").ok();
    assert_eq!(sandbox.text("--help"), "one");
    let _ = sandbox.ckpt("reset -- --hard").exits(2);
    assert_eq!(sandbox.text("--help"), "one");
}
