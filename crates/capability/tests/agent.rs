//! The example agent, from its task to the tree that it leaves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

#[path = "../examples/agent.rs"]
#[expect(dead_code, reason = "the example's `main` is not ours")]
mod example;

/// Every file below `dir` with its text, sorted.
#[must_use]
fn tree(dir: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            files.extend(tree(&path).into_iter().map(|(below, text)| (format!("{name}/{below}"), text)));
        } else {
            files.push((name, std::fs::read_to_string(path).unwrap()));
        }
    }
    files.sort();
    files
}

#[test]
fn a_failed_step_is_taken_back_and_the_others_stay() {
    let temp = tempfile::tempdir().unwrap();
    let project = temp.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let task = "main.py: print('hello')\nconfig.toml: [broken\nsrc/lib.py: answer = 42\n";
    std::fs::write(project.join("task.txt"), task).unwrap();
    std::fs::write(project.join("config.toml"), "level = 1\n").unwrap();

    let mut out = Vec::new();
    example::run(&project, &temp.path().join("checkpoints"), &mut out).unwrap();

    let out = String::from_utf8(out).unwrap();
    let said: Vec<_> = out.lines().map(|line| line.split(" (").next().unwrap()).collect();
    assert_eq!(said[..3], ["done: main.py", "taken back: config.toml", "done: src/lib.py"]);
    assert!(out.ends_with("+edited main.py\n+edited src/lib.py\n\n"), "{out}");
    let files = tree(&project);
    let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(
        files,
        [
            ("config.toml", "level = 1\n"),
            ("diary.txt", "edited main.py\nedited src/lib.py\n"),
            ("main.py", "print('hello')\n"),
            ("src/lib.py", "answer = 42\n"),
            ("task.txt", task),
        ]
    );
}
