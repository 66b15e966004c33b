//! The reference of the command line, `docs/cli.md`, from the code itself.
pub(crate) fn markdown() -> String {
    String::new()
}
