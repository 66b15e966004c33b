//! Loads in a sandbox of real files: which source wins, what goes wrong, whom to trust.

mod layers;
mod mistakes;
mod sandbox;
mod trust;
