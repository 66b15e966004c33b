//! Walks a directory with two threads, reads every file and hashes it; with a second argument deflates it too, at level
//! 1, into that one file: what a first save costs at least. `cargo xtask bench` holds first saves against it.
//!
//! ```text
//! read_files DIR [INTO]
//! ```

#[path = "../../fs/examples/walking/mod.rs"]
mod walking;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;

use ckpt_fs::{Dir, FileKind, Stat};
use ckpt_pack::{Kind, hash_object};
use libdeflater::{CompressionLvl, Compressor};

/// One write to the file; fewer would only take more memory.
const WRITE_BYTES: usize = 1 << 20;

struct Reader<'a> {
    content: Vec<u8>,
    deflated: Vec<u8>,
    pending: Vec<u8>,
    compressor: Compressor,
    into: Option<&'a Mutex<File>>,
    read_bytes: u64,
}

impl<'a> Reader<'a> {
    fn new(into: Option<&'a Mutex<File>>) -> Self {
        let level = CompressionLvl::new(1).unwrap_or_else(|_| CompressionLvl::fastest());
        Self {
            content: Vec::new(),
            deflated: Vec::new(),
            pending: Vec::new(),
            compressor: Compressor::new(level),
            into,
            read_bytes: 0,
        }
    }

    fn take(&mut self, dir: &Dir, name: &[u8], size: u64) -> io::Result<()> {
        self.content.resize(usize::try_from(size).map_err(io::Error::other)?, 0);
        dir.open_file(name)?.read_exact(&mut self.content)?;
        self.read_bytes += size;
        hash_object(Kind::Blob, &self.content).map_err(io::Error::other)?;
        if self.into.is_some() {
            let bound = self.compressor.zlib_compress_bound(self.content.len());
            self.deflated.resize(bound.max(self.deflated.len()), 0);
            let len = self.compressor.zlib_compress(&self.content, &mut self.deflated).map_err(io::Error::other)?;
            self.pending.extend_from_slice(&self.deflated[..len]);
            if self.pending.len() >= WRITE_BYTES {
                self.write()?;
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(into) = self.into {
            into.lock().expect("no thread panics while it holds the lock").write_all(&self.pending)?;
        }
        self.pending.clear();
        Ok(())
    }
}

impl walking::Visitor for Reader<'_> {
    fn visit(&mut self, dir: &Dir, name: &[u8], stat: &Stat) {
        if stat.kind == FileKind::File {
            self.take(dir, name, stat.size).expect("the files stay as they are while this runs");
        }
    }
}

fn run(root: &Path, into: Option<&Path>) -> io::Result<u64> {
    let into = into.map(File::create).transpose()?.map(Mutex::new);
    let mut read_bytes = 0;
    for mut reader in walking::walk(root, [Reader::new(into.as_ref()), Reader::new(into.as_ref())])? {
        reader.write()?;
        read_bytes += reader.read_bytes;
    }
    Ok(read_bytes)
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints what it found")]
fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(root) = args.next() else { return ExitCode::from(2) };
    match run(root.as_ref(), args.next().as_ref().map(Path::new)) {
        Ok(read_bytes) => {
            println!("{read_bytes}");
            ExitCode::SUCCESS
        }
        Err(err) => {
            eprintln!("{err}");
            ExitCode::FAILURE
        }
    }
}
