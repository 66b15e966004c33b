//! `cargo xtask docs`: the references that the code writes about itself.
//!
//! A reference comes from an example target of the crate that owns the subject, so that xtask need not link the crates.
//! Of the case book only the column of tests is generated.

use crate::failure::Failure;
use crate::printer;
use crate::program::Program;
use crate::tidy;
use crate::workspace::Workspace;

/// Whether to write.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Compare with the files instead of writing them; show the first line that differs.
    #[arg(long)]
    check: bool,
}

/// One generated page.
struct Reference {
    page: &'static str,
    /// The crate whose example prints it: `cli_reference` for ckpt-cli.
    package: &'static str,
}

const REFERENCES: &[Reference] = &[
    Reference { page: "docs/config.md", package: "ckpt-config" },
    Reference { page: "docs/cli.md", package: "ckpt-cli" },
];

/// Writes the pages, or compares them.
pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<(), Failure> {
    if args.check {
        return check(workspace);
    }
    for (page, text) in pages(workspace)? {
        workspace.write(page, &text)?;
        printer::say(&format!("docs: wrote {page}"));
    }
    Ok(())
}

/// Fails at the first page that is not what the code says now.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    for (page, text) in pages(workspace)? {
        let present = workspace.read(page).map_err(|failure| failure.hint("run `cargo xtask docs`"))?;
        if let Some(difference) = first_difference(&present, &text) {
            return Err(Failure::new(format!("{page} is not what the code says"))
                .because(difference)
                .hint("run `cargo xtask docs` and look at what changed"));
        }
        printer::say(&format!("docs: {page} is up to date"));
    }
    Ok(())
}

/// Path and text of every page.
fn pages(workspace: &Workspace) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut pages = vec![tidy::case_book(workspace)?];
    for reference in REFERENCES {
        pages.push((reference.page, generate(workspace, reference)?));
    }
    Ok(pages)
}

fn generate(workspace: &Workspace, reference: &Reference) -> Result<String, Failure> {
    // Two examples of one name would be one file for cargo.
    let example = format!("{}_reference", reference.package.trim_start_matches("ckpt-"));
    let run = ["run", "--quiet", "--locked", "--package", reference.package, "--example", &example];
    Ok(Program::cargo(workspace.root()).args(run).text()? + "\n")
}

/// The first line that differs, from both sides.
fn first_difference(page: &str, code: &str) -> Option<String> {
    if page == code {
        return None;
    }
    let (mut of_page, mut of_code) = (page.lines(), code.lines());
    for number in 1.. {
        match (of_page.next(), of_code.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let shown = |line: Option<&str>| line.map_or("(the end)".to_owned(), |line| format!("`{line}`"));
                return Some(format!("line {number}: the page has {}, the code {}", shown(a), shown(b)));
            }
        }
    }
    Some("the line ends differ".to_owned())
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn shows_the_first_line_that_differs() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        let changed = first_difference("a\nb\nc\n", "a\nx\ny\n").unwrap();
        assert_eq!(changed, "line 2: the page has `b`, the code `x`");
        let shorter = first_difference("a\n", "a\nb\n").unwrap();
        assert_eq!(shorter, "line 2: the page has (the end), the code `b`");
        assert_eq!(first_difference("a", "a\n").unwrap(), "the line ends differ");
    }
}
