//! The Checkpoint trait that agent types implement.
