//! `show`: one checkpoint, with what it changed and what it left out.

use crate::sandbox::{Sandbox, redact};

#[test]
fn show_lists_what_was_omitted() {
    let sandbox = Sandbox::new();
    sandbox.write("a", "1");
    sandbox.write("d/deep/big", "x".repeat(2000));
    sandbox.write("log", "x");
    let save = |message: &str| {
        let call = sandbox.call(["save", "--always", message]).config("max_file_bytes", "1000");
        call.config("exclude", "[\"log\"]").run().ok().id()
    };
    let first = save("first");
    let shown = sandbox.ckpt("show").ok().out();
    let shown: Vec<_> = shown.lines().filter(|line| !line.starts_with("made ")).collect();
    insta::assert_snapshot!(redact(&shown.join("\n"), sandbox.root()), @r#"
    checkpoint [id 1]
    kind       manual, head
    previous   none, it is the first
    holds      1 file, 1 B
    omitted    2 paths
      too-large  d/deep/big (larger than max_file_bytes)
      excluded   log (a configured exclude names it)

        first

    added     a
    added     d/deep/
    "#);
    for number in 0..25 {
        sandbox.write(format!("big{number:02}"), "x".repeat(2000));
    }
    save("second");
    let shown = sandbox.ckpt("show").ok().says("omitted    27 paths").says("big19").says("and 7 paths more");
    let _ = shown.keeps_quiet_about("big20");
    let json = sandbox.ckpt("show --json").ok().json();
    let omitted = json["omitted"].as_array().unwrap();
    assert_eq!(omitted.len(), 27, "{json}");
    assert_eq!(omitted[0].to_string(), r#"{"path":"big00","reason":"too-large"}"#);
    assert_eq!(json["checkpoint"]["omitted_count"], 27);
    // The rules of today do not matter.
    let json = sandbox.ckpt(&format!("show {first} --json")).ok().json();
    let expected = r#"[{"path":"d/deep/big","reason":"too-large"},{"path":"log","reason":"excluded"}]"#;
    assert_eq!(json["omitted"].to_string(), expected);
    let _ = sandbox.call(["show", "--patch", &first]).dir("d").run().ok().says("deep/big").says("../log");
}
