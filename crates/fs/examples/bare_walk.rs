//! Walks a directory with two threads and asks for the stat data of every entry, and does nothing else: what looking at
//! the files costs. `tests/real.sh` holds a save against it.
//!
//! ```text
//! bare_walk DIR
//! ```

use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex};

use ckpt_fs::{Dir, Entries, FileKind};

struct Work {
    waiting: Vec<(Arc<Dir>, Vec<u8>)>,
    running: usize,
    entries: u64,
}

fn walk(work: &Mutex<Work>, wake: &Condvar) {
    let mut names = Entries::default();
    let mut seen = 0;
    loop {
        let mut state = work.lock().expect("no thread panics while it holds the lock");
        let (parent, name) = loop {
            if let Some(job) = state.waiting.pop() {
                state.running += 1;
                break job;
            }
            if state.running == 0 {
                state.entries += seen;
                wake.notify_all();
                return;
            }
            state = wake.wait(state).expect("no thread panics while it holds the lock");
        };
        drop(state);
        let mut found = Vec::new();
        if let Ok(dir) = parent.open_dir(&name).map(Arc::new)
            && dir.read_entries(&mut names).is_ok()
        {
            for entry in names.iter() {
                if let Ok(stat) = dir.stat(entry.name) {
                    seen += 1;
                    if stat.kind == FileKind::Dir {
                        found.push((Arc::clone(&dir), entry.name.to_vec()));
                    }
                }
            }
        }
        let mut state = work.lock().expect("no thread panics while it holds the lock");
        state.running -= 1;
        let is_news = !found.is_empty() || state.running == 0;
        state.waiting.extend(found);
        drop(state);
        if is_news {
            wake.notify_all();
        }
    }
}

#[expect(clippy::print_stdout, reason = "an example prints what it found")]
fn main() -> ExitCode {
    let Some(root) = std::env::args_os().nth(1) else { return ExitCode::from(2) };
    let Ok(root) = Dir::open(root.as_ref()) else { return ExitCode::FAILURE };
    let work = Mutex::new(Work { waiting: vec![(Arc::new(root), b".".to_vec())], running: 0, entries: 0 });
    let wake = Condvar::new();
    std::thread::scope(|scope| {
        scope.spawn(|| walk(&work, &wake));
        walk(&work, &wake);
    });
    println!("{}", work.into_inner().expect("no thread panics while it holds the lock").entries);
    ExitCode::SUCCESS
}
