//! Tables of Markdown, and the code words in their cells.

/// One table.
#[derive(Debug)]
pub(super) struct Table {
    /// Cells of the first row, trimmed.
    pub(super) head: Vec<String>,
    /// The rows below, each with its line number from 1; cells trimmed, as many as were written.
    pub(super) rows: Vec<(usize, Vec<String>)>,
}

impl Table {
    /// Position of the column with this head.
    pub(super) fn column(&self, head: &str) -> Option<usize> {
        self.head.iter().position(|cell| cell == head)
    }
}

/// All tables of a document, in order.
pub(super) fn tables(text: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut inside = false;
    for (line, number) in text.lines().zip(1..) {
        if !line.starts_with('|') {
            inside = false;
        } else if !inside {
            inside = true;
            tables.push(Table { head: cells(line), rows: Vec::new() });
        } else if !line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
            && let Some(table) = tables.last_mut()
        {
            table.rows.push((number, cells(line)));
        }
    }
    tables
}

/// What stands between backticks, in order.
pub(super) fn code_words(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Cells of one row; `\|` is a bar inside a cell.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_start_matches('|');
    let inner = inner.strip_suffix('|').unwrap_or(inner).replace("\\|", "\u{0}");
    inner.split('|').map(|cell| cell.trim().replace('\u{0}', "\\|")).collect()
}

#[cfg(test)]
mod tests {
    use super::{code_words, tables};

    #[test]
    fn reads_tables() {
        let text = "# A\n\n| id | what |\n|---|---|\n| U8 | `ls \\| head` |\n\nText.\n\n| x |\n|:-:|\n| y |\n";
        let found = tables(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].head, ["id", "what"]);
        assert_eq!(found[0].rows, [(5, vec!["U8".to_owned(), "`ls \\| head`".to_owned()])]);
        assert_eq!(found[0].column("what"), Some(1));
        assert_eq!(found[1].rows.len(), 1);
    }

    #[test]
    fn reads_code_words() {
        assert_eq!(code_words("`a_l1`, then `b_l1`").collect::<Vec<_>>(), ["a_l1", "b_l1"]);
        assert_eq!(code_words("—").count(), 0);
    }
}
