//! Saves a directory several times in one process, and prints what each save took, in nanoseconds: what a save costs
//! where no process has to be started. `cargo xtask bench` measures with it, and makes long histories.
//!
//! ```text
//! many_saves CHECKPOINT_DIR DIR COUNT [always]
//! ```

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use ckpt_core::{CheckpointStore, Durability, SaveOptions, StoreOptions};

#[expect(clippy::print_stdout, reason = "an example prints what it found")]
fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let [checkpoint_dir, dir, count, rest @ ..] = &*args else {
        return Err("many_saves CHECKPOINT_DIR DIR COUNT [always]".into());
    };
    let count: u32 = count.to_str().ok_or("COUNT is a number")?.parse()?;
    let mut store_options = StoreOptions::default();
    store_options.durability = Durability::None;
    let store = CheckpointStore::open_or_create(Path::new(checkpoint_dir), Path::new(dir), store_options)?;
    for number in 0..count {
        let mut options = SaveOptions::from(format!("save {number}"));
        options.always = rest.iter().any(|word| word == "always");
        let start = Instant::now();
        store.save(options)?;
        println!("{}", start.elapsed().as_nanos());
    }
    Ok(())
}
