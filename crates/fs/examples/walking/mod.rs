//! A walk over a directory with two threads, for the programs that show what looking at files costs at least.
//!
//! It is not the walk of a save: that one knows rules and a cache, and stands in `ckpt-core`.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use ckpt_fs::{Dir, Entries, FileKind, Stat};

/// What a thread does with each entry.
pub(crate) trait Visitor: Send {
    /// Takes the next entry; `dir` holds it.
    fn visit(&mut self, dir: &Dir, name: &[u8], stat: &Stat);
}

struct Work {
    waiting: Vec<(Arc<Dir>, Vec<u8>)>,
    running: usize,
}

/// Shows every entry below `root` to one of two visitors, and gives both back.
///
/// # Errors
/// What opening `root` answers; a directory further down that cannot be read is passed by.
pub(crate) fn walk<V: Visitor>(root: &Path, mut visitors: [V; 2]) -> std::io::Result<[V; 2]> {
    let root = Arc::new(Dir::open(root)?);
    let work = Mutex::new(Work { waiting: vec![(root, b".".to_vec())], running: 0 });
    let wake = Condvar::new();
    let [first, second] = &mut visitors;
    std::thread::scope(|scope| {
        scope.spawn(|| take_part(&work, &wake, first));
        take_part(&work, &wake, second);
    });
    Ok(visitors)
}

fn take_part(work: &Mutex<Work>, wake: &Condvar, visitor: &mut impl Visitor) {
    let mut names = Entries::default();
    loop {
        let mut state = lock(work);
        let (parent, name) = loop {
            if let Some(job) = state.waiting.pop() {
                state.running += 1;
                break job;
            }
            if state.running == 0 {
                wake.notify_all();
                return;
            }
            state = wake.wait(state).expect("no thread panics while it holds the lock");
        };
        drop(state);
        let found = visit_dir(&parent, &name, &mut names, visitor);
        let mut state = lock(work);
        state.running -= 1;
        let is_news = !found.is_empty() || state.running == 0;
        state.waiting.extend(found);
        drop(state);
        if is_news {
            wake.notify_all();
        }
    }
}

/// Visits the entries of one directory; answers with the directories among them.
fn visit_dir(parent: &Dir, name: &[u8], names: &mut Entries, visitor: &mut impl Visitor) -> Vec<(Arc<Dir>, Vec<u8>)> {
    let mut found = Vec::new();
    let Ok(dir) = parent.open_dir(name).map(Arc::new) else { return found };
    if dir.read_entries(names).is_ok() {
        for entry in names.iter() {
            let Ok(stat) = dir.stat(entry.name) else { continue };
            visitor.visit(&dir, entry.name, &stat);
            if stat.kind == FileKind::Dir {
                found.push((Arc::clone(&dir), entry.name.to_vec()));
            }
        }
    }
    found
}

fn lock(work: &Mutex<Work>) -> MutexGuard<'_, Work> {
    work.lock().expect("no thread panics while it holds the lock")
}
