//! Rust text with everything blanked that is not code.
//!
//! Without this, a rule about `unsafe` would fire on a sentence about it. Not a lexer: it knows comments, strings and
//! character literals, which is all that can hide a word from us.

/// Replaces comments and string and character literals by spaces. Every byte of code stays where it is.
pub(super) fn mask(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => line_end(&chars, at),
            '/' if chars.get(at + 1) == Some(&'*') => comment_end(&chars, at),
            '"' => string_end(&chars, at),
            'r' if !follows_word(&chars, at) || is_raw_prefix(&chars, at) => raw_string_end(&chars, at).unwrap_or(at),
            '\'' => char_end(&chars, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        blank(&mut out, &chars[at..end]);
        at = end;
    }
    out
}

/// Masks `text`, and blanks each item that no release holds: those under `#[cfg(test)]` and the feature `faults`.
pub(super) fn mask_shipped(text: &str) -> String {
    let masked = mask(text);
    let mut out = String::with_capacity(masked.len());
    let mut at = 0;
    while let Some(start) = next_unshipped(text, &masked, at) {
        let end = start + item_end(&masked[start..]);
        out.push_str(&masked[at..start]);
        blank(&mut out, &masked[start..end].chars().collect::<Vec<_>>());
        at = end;
    }
    out.push_str(&masked[at..]);
    out
}

/// Byte at which the next such item begins. The attribute is looked for in the text, where its literal still is; in the
/// masked text is seen whether it is code.
fn next_unshipped(text: &str, masked: &str, at: usize) -> Option<usize> {
    const MARKS: [&str; 2] = ["#[cfg(test)]", "#[cfg(feature = \"faults\")]"];
    let found = MARKS.iter().filter_map(|mark| {
        let mut places = text[at..].match_indices(mark).map(|(place, _)| at + place);
        places.find(|&place| masked[place..].starts_with("#[cfg("))
    });
    found.min()
}

/// Bytes up to the end of the first item: its `;`, or the brace that closes its first one.
pub(super) fn item_end(masked: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in masked.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    masked.len()
}

fn blank(out: &mut String, chars: &[char]) {
    for c in chars {
        if *c == '\n' {
            out.push('\n');
        } else {
            out.extend(std::iter::repeat_n(' ', c.len_utf8()));
        }
    }
}

fn line_end(chars: &[char], at: usize) -> usize {
    chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |length| at + length)
}

fn comment_end(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut next = at;
    while next < chars.len() {
        match (chars[next], chars.get(next + 1)) {
            ('/', Some('*')) => (depth, next) = (depth + 1, next + 2),
            ('*', Some('/')) => (depth, next) = (depth - 1, next + 2),
            _ => next += 1,
        }
        if depth == 0 {
            return next;
        }
    }
    chars.len()
}

fn string_end(chars: &[char], at: usize) -> usize {
    let mut next = at + 1;
    while next < chars.len() {
        match chars[next] {
            '\\' => next += 2,
            '"' => return next + 1,
            _ => next += 1,
        }
    }
    chars.len()
}

/// `None` where no raw string begins, as in `r#type` and in words.
fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |from: usize| chars[from..].iter().take_while(|&&c| c == '#').count() >= hashes;
    let quote = (open + 1..chars.len()).find(|&next| chars[next] == '"' && closes(next + 1));
    Some(quote.map_or(chars.len(), |quote| quote + 1 + hashes))
}

/// `None` for a lifetime.
fn char_end(chars: &[char], at: usize) -> Option<usize> {
    if chars.get(at + 1) == Some(&'\\') {
        let close = (at + 3..chars.len()).find(|&next| chars[next] == '\'')?;
        return Some(close + 1);
    }
    (chars.get(at + 2) == Some(&'\'')).then_some(at + 3)
}

fn follows_word(chars: &[char], at: usize) -> bool {
    at > 0 && is_word(chars[at - 1])
}

/// Whether the `r` at `at` is that of `br"` or `cr"`.
fn is_raw_prefix(chars: &[char], at: usize) -> bool {
    at > 0 && matches!(chars[at - 1], 'b' | 'c') && (at < 2 || !is_word(chars[at - 2]))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{mask, mask_shipped};

    #[test]
    fn blanks_comments_and_literals() {
        assert_eq!(mask("a // unsafe\nb"), "a          \nb");
        assert_eq!(mask("a /* x /* y */ z */ b"), "a                   b");
        assert_eq!(mask(r#"f("un\"safe", 1)"#), "f(          , 1)");
        assert_eq!(mask("f(r#\"a\"b\"#)"), "f(        )");
        assert_eq!(mask("f(br\"\\\")"), "f(b    )");
        assert_eq!(mask("let q = '\"'; let l: &'a str = '\\'';"), "let q =    ; let l: &'a str =     ;");
        assert_eq!(mask("r#type for_\"\""), "r#type for_  ");
    }

    #[test]
    fn keeps_lines_and_bytes_where_they_are() {
        assert_eq!(mask("\"a\nb\" c"), "  \n   c");
        assert_eq!(mask("\"日\" c").len(), "\"日\" c".len());
    }

    fn shipped_lines(text: &str) -> Vec<String> {
        mask_shipped(text).lines().map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn blanks_test_items_only() {
        let text = "a\n#[cfg(test)]\nuse x;\nb\n#[cfg(test)]\nmod t {\n  fn f() {}\n}\nc\n";
        assert_eq!(shipped_lines(text), ["a", "", "", "b", "", "", "", "", "c"]);
    }

    #[test]
    fn blanks_what_only_crash_tests_build() {
        let text = "// #[cfg(test)]\na\n#[cfg(feature = \"faults\")]\nmod enabled { x }\n#[cfg(not(feature = \"faults\"))]\nb\n";
        assert_eq!(shipped_lines(text), ["", "a", "", "", "#[cfg(not(feature =         ))]", "b"]);
    }
}
