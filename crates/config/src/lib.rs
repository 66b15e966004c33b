//! Configuration of ckpt: the checkpoint key, layered by figment.
