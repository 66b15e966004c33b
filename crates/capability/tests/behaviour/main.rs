//! The capability as agents use it: mounting, guards, attempts. All through a service of the test's own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod guards;
mod mounting;
mod sandbox;
