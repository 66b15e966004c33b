//! Makes output comparable: what differs from run to run gets a number, in order of appearance.

use std::path::Path;

/// Replaces the sandbox's directory by `[sandbox]`, ids and their beginnings by `[id N]`, durations and ages by `[time]`.
pub(crate) fn redact(text: &str, root: &Path) -> String {
    let text = text.replace(&*root.to_string_lossy(), "[sandbox]");
    let mut ids: Vec<String> = Vec::new();
    let mut redacted = String::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let word_len = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word_len);
        if is_id(word) {
            let number = ids.iter().position(|id| id.starts_with(word) || word.starts_with(id.as_str()));
            let number = number.unwrap_or_else(|| {
                ids.push(word.to_owned());
                ids.len() - 1
            });
            redacted += &format!("[id {}]", number + 1);
        } else {
            redacted += word;
        }
        let gap = after.chars().next().map_or(0, char::len_utf8);
        redacted += &after[..gap];
        rest = &after[gap..];
    }
    redacted.lines().map(without_times).collect::<Vec<_>>().join("\n")
}

fn is_id(word: &str) -> bool {
    matches!(word.len(), 8..=12 | 16 | 40)
        && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Replaces `12 ms`, `1.4 s`, `just now` and `3 seconds ago`.
fn without_times(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let mut out: Vec<String> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let is_number = words[at].trim_start_matches('(').parse::<f64>().is_ok();
        let unit = words.get(at + 1).map(|word| word.trim_end_matches(['.', ',', ')', ';']));
        if is_number && matches!(unit, Some("ms" | "s")) {
            let tail = &words[at + 1][unit.unwrap_or_default().len()..];
            let head = if words[at].starts_with('(') { "(" } else { "" };
            out.push(format!("{head}[time]{tail}"));
            at += 2;
        } else if is_number && matches!(unit, Some("second" | "seconds")) && words.get(at + 2) == Some(&"ago") {
            out.push("[time]".to_owned());
            at += 3;
        } else if words[at] == "just" && words.get(at + 1) == Some(&"now") {
            out.push("[time]".to_owned());
            at += 2;
        } else {
            out.push(words[at].to_owned());
            at += 1;
        }
    }
    out.join(" ")
}
