//! Deterministic trees that are like source code: sizes log-normal (median 2.5 KB, sigma 1.35, at most 4 MiB), 10 to 30
//! files a directory, up to 8 levels, text that deflates as code does.
//!
//! Only the number of files decides what is made, so that figures of two machines are about the same tree.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

use super::random::Random;

const SEED: u64 = 0x00C0_FFEE;
const MEDIAN_BYTES: f64 = 2500.0;
const SIGMA: f64 = 1.35;
const MAX_BYTES: f64 = 4.0 * 1024.0 * 1024.0;
const MIN_BYTES: f64 = 16.0;
const MAX_DEPTH: usize = 8;
const VOCABULARY: usize = 6000;
/// Text that files are cut from; far more than a compressor can look back, else files would be repetitions.
const POOL_BYTES: usize = 6 << 20;
const PUNCTUATION: [&str; 14] = ["(", ")", " = ", ".", ", ", ": ", " -> ", "{", "}", ";", " + ", "[0]", "\"", " == "];
const ENDINGS: [&str; 10] = ["rs", "py", "md", "ts", "json", "txt", "c", "h", "go", "toml"];

/// Makes a tree of `files` files in the directory `root`, which is made too.
pub(crate) fn make(root: &Path, files: usize) -> Result<(), Failure> {
    let mut random = Random::new(SEED + files as u64);
    let words = vocabulary(&mut random);
    let pool = text_pool(&mut random, &words);
    // Directories that wait for their files, with their depth.
    let mut dirs = vec![(root.to_owned(), 0)];
    let mut next = 0;
    let mut number = 0;
    while number < files {
        let (dir, depth) = dirs.get(next).cloned().unwrap_or_else(|| (root.join(format!("top{next}")), 1));
        next += 1;
        fs::create_dir_all(&dir).map_err(|err| Failure::at("create", &dir, err))?;
        for _ in 0..random.between(10, 30).min(files - number) {
            write_file(&dir, number, &content(&mut random, &pool, number))?;
            number += 1;
        }
        // No more directories than the files that are left will fill.
        let wanted = (files - number) / 8 + 8;
        if depth < MAX_DEPTH && dirs.len().saturating_sub(next) < wanted {
            let children = if depth == 0 { 12 } else { random.choose(&[1, 2, 2, 3]) };
            for _ in 0..children {
                let word = &words[random.between(0, VOCABULARY - 1)];
                let name = format!("{}d{}", word.trim_matches('_'), dirs.len());
                dirs.push((dir.join(name), depth + 1));
            }
        }
    }
    Ok(())
}

fn vocabulary(random: &mut Random) -> Vec<String> {
    let letters: Vec<char> = ('a'..='z').chain(['_']).collect();
    let word = |random: &mut Random| (0..random.between(2, 11)).map(|_| random.choose(&letters)).collect();
    (0..VOCABULARY).map(|_| word(random)).collect()
}

fn text_pool(random: &mut Random, words: &[String]) -> Vec<u8> {
    let mut pool = String::new();
    while pool.len() < POOL_BYTES {
        pool.push_str(&"    ".repeat(random.choose(&[0, 1, 1, 2, 2, 3])));
        for _ in 0..random.between(1, 9) {
            let rank = random.pareto(0.9).min(VOCABULARY as f64) as usize - 1 + random.between(0, 40);
            pool.push_str(&words[rank.min(VOCABULARY - 1)]);
            pool.push_str(if random.unit() < 0.6 { random.choose(&PUNCTUATION) } else { " " });
        }
        pool.push('\n');
    }
    pool.into_bytes()
}

/// Pieces of the pool from anywhere, each with a number that no other file has.
fn content(random: &mut Random, pool: &[u8], number: usize) -> Vec<u8> {
    let bytes = (MEDIAN_BYTES * (SIGMA * random.normal()).exp()).clamp(MIN_BYTES, MAX_BYTES) as usize;
    let mut content = format!("// file {number} {:016x}\n", random.number()).into_bytes();
    while content.len() < bytes {
        let piece = random.between(200, 3000).min(bytes - content.len());
        let start = random.between(0, pool.len() - piece - 1);
        content.extend_from_slice(&pool[start..start + piece]);
        if content.len() + 20 < bytes {
            content.extend_from_slice(format!("{:012x}\n", random.number() >> 16).as_bytes());
        }
    }
    content
}

fn write_file(dir: &Path, number: usize, content: &[u8]) -> Result<(), Failure> {
    let path: PathBuf = dir.join(format!("f{number:06}.{}", ENDINGS[number % ENDINGS.len()]));
    let mode = if number.is_multiple_of(97) { 0o755 } else { 0o644 };
    let write = || {
        let mut file = File::create_new(&path)?;
        file.write_all(content)?;
        // Not left to the umask: git knows two modes, and what it writes back has to be what stood there.
        file.set_permissions(fs::Permissions::from_mode(mode))
    };
    write().map_err(|err| Failure::at("write", &path, err))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tree::visit_files;

    fn list_files(root: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let listed = visit_files(root, |path| {
            files.push(path.to_owned());
            Ok(())
        });
        listed.unwrap();
        files
    }

    #[test]
    fn trees_have_their_files_and_sizes() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("tree");
        make(&root, 1000).unwrap();
        let files = list_files(&root);
        assert_eq!(files.len(), 1000);
        let mut sizes: Vec<u64> = files.iter().map(|path| fs::metadata(path).unwrap().len()).collect();
        sizes.sort_unstable();
        assert!((2000..3100).contains(&sizes[500]), "median {}", sizes[500]);
        let deepest = files.iter().map(|path| path.strip_prefix(&root).unwrap().components().count()).max();
        assert!(deepest.is_some_and(|depth| (3..=MAX_DEPTH + 1).contains(&depth)), "{deepest:?}");
    }

    #[test]
    fn trees_are_the_same_each_time() {
        let temp = tempfile::tempdir().unwrap();
        let trees = ["a", "b"].map(|name| temp.path().join(name));
        for root in &trees {
            make(root, 60).unwrap();
        }
        let [first, second] = trees.map(|root| {
            let files = list_files(&root);
            let named = |path: PathBuf| (path.strip_prefix(&root).unwrap().to_owned(), fs::read(path).unwrap());
            files.into_iter().map(named).collect::<Vec<_>>()
        });
        assert!(first == second);
    }
}
