//! Does nothing: what starting a Rust program costs. `cargo xtask bench` holds the start of `ckpt` against it.

fn main() {}
