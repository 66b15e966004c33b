//! One wildcard pattern, compiled, with the matches that Git gives it.
//!
//! Written here and not taken from gix-glob, because that one differs from Git where it decides what is saved (tried
//! with 0.29 against Git 2.47): `foo**/bar` does not match `foo/x/bar`, and what follows a class such as `[[:a]` is
//! matched at wrong places. The comparison with stock Git is in `tests.rs`.
//!
//! `?`, `*` and classes never match `/`. No pattern makes matching exponential: there are two places to return to, the
//! last `*` and the last `**`, and an older one could not find more.

/// Bytes that end the literal beginning of a pattern.
const SPECIAL: &[u8] = b"*?[\\";

/// A pattern without its marks (`!`, leading and trailing `/`).
#[derive(Debug)]
pub(super) struct Glob {
    /// What the text begins with.
    head: Vec<u8>,
    /// What matches the bytes between the two; ends in a token that is no [`Token::Byte`].
    middle: Vec<Token>,
    /// What the text ends with.
    tail: Vec<u8>,
    /// The byte that the text ends with, if there is one only. It tells most names apart without a look at the rest,
    /// which makes questions several times as fast.
    last: Option<u8>,
}

#[derive(Debug)]
enum Token {
    Byte(u8),
    /// `?`
    AnyByte,
    /// `[…]`
    Class(Box<Class>),
    /// `*`
    Star,
    /// `**/`: no directory or several. With an escaped slash, as in Git, at least one.
    Dirs {
        may_be_none: bool,
    },
    /// `**` at the end.
    Rest,
}

impl Token {
    fn accepts(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::AnyByte => byte != b'/',
            Self::Class(class) => class.contains(byte),
            Self::Star | Self::Dirs { .. } | Self::Rest => false,
        }
    }
}

impl Glob {
    /// Compiles a pattern. `None` if it is malformed (a class without end or of unknown name, an escape of nothing) or
    /// empty: Git accepts such a line, and it matches nothing.
    pub(super) fn compile(pattern: &[u8]) -> Option<Self> {
        let head = pattern.iter().position(|byte| SPECIAL.contains(byte)).unwrap_or(pattern.len());
        let mut tokens = Vec::new();
        let mut at = head;
        while let Some(&byte) = pattern.get(at) {
            let (token, end) = match byte {
                b'\\' => (Token::Byte(*pattern.get(at + 1)?), at + 2),
                b'?' => (Token::AnyByte, at + 1),
                b'[' => {
                    let (class, end) = Class::compile(pattern, at + 1)?;
                    (Token::Class(Box::new(class)), end)
                }
                b'*' => {
                    // Git compares the literal beginning first and the rest as a pattern of its own, so that `foo**/`
                    // counts as free although no slash stands before the stars.
                    stars(pattern, at, at == head || pattern[at - 1] == b'/')
                }
                _ => (Token::Byte(byte), at + 1),
            };
            tokens.push(token);
            at = end;
        }
        let literal = tokens.iter().rev().take_while(|token| matches!(token, Token::Byte(_))).count();
        let tail = tokens.split_off(tokens.len() - literal);
        let tail = tail.into_iter().filter_map(|token| if let Token::Byte(byte) = token { Some(byte) } else { None });
        let (head, tail) = (pattern[..head].to_vec(), tail.collect::<Vec<_>>());
        let last = tail.last().or(head.last().filter(|_| tokens.is_empty())).copied();
        (!pattern.is_empty()).then_some(Self { last, head, middle: tokens, tail })
    }

    /// Whether the pattern matches all of `text`.
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        if self.last.is_some() && self.last != text.last().copied() {
            return false;
        }
        let between = text.strip_prefix(&*self.head).and_then(|rest| rest.strip_suffix(&*self.tail));
        between.is_some_and(|between| wildcards_match(&self.middle, between))
    }
}

/// The token for the stars at `at`, and where they end. Only stars that are alone between slashes cross directories.
fn stars(pattern: &[u8], at: usize, free_before: bool) -> (Token, usize) {
    let end = at + pattern[at..].iter().take_while(|&&byte| byte == b'*').count();
    match &pattern[end..] {
        _ if end - at < 2 || !free_before => (Token::Star, end),
        [] => (Token::Rest, end),
        [b'/', ..] => (Token::Dirs { may_be_none: true }, end + 1),
        [b'\\', b'/', ..] => (Token::Dirs { may_be_none: false }, end + 2),
        _ => (Token::Star, end),
    }
}

/// Token and place in the text from which to go on when what follows a wildcard does not match.
#[derive(Clone, Copy)]
struct Retry {
    token: usize,
    at: usize,
}

fn wildcards_match(tokens: &[Token], text: &[u8]) -> bool {
    let (mut star, mut dirs) = (None::<Retry>, None::<Retry>);
    let mut here = Retry { token: 0, at: 0 };
    loop {
        match tokens.get(here.token) {
            None if here.at == text.len() => return true,
            Some(Token::Rest) => return true,
            Some(Token::Star) => {
                here.token += 1;
                if here.token == tokens.len() && !text[here.at..].contains(&b'/') {
                    return true;
                }
                star = Some(here);
                continue;
            }
            Some(Token::Dirs { may_be_none }) => {
                here.token += 1;
                dirs = Some(here);
                star = None;
                if *may_be_none {
                    continue;
                }
            }
            Some(token) if text.get(here.at).is_some_and(|&byte| token.accepts(byte)) => {
                here = Retry { token: here.token + 1, at: here.at + 1 };
                continue;
            }
            _ => {}
        }
        if let Some(retry) = star.filter(|retry| text.get(retry.at).is_some_and(|&byte| byte != b'/')) {
            here = Retry { at: retry.at + 1, ..retry };
            star = Some(here);
        } else if let Some(retry) = dirs
            && let Some(slash) = text[retry.at..].iter().position(|&byte| byte == b'/')
        {
            here = Retry { at: retry.at + slash + 1, ..retry };
            dirs = Some(here);
            star = None;
        } else {
            return false;
        }
    }
}

/// A set of bytes; never holds `/`, whatever is inserted.
#[derive(Debug, Default)]
struct Class([u64; 4]);

impl Class {
    /// Compiles the class whose `[` stands before `at`, and tells where it ends.
    fn compile(pattern: &[u8], mut at: usize) -> Option<(Self, usize)> {
        let negated = matches!(pattern.get(at)?, b'!' | b'^');
        at += usize::from(negated);
        let first = at;
        let mut class = Self::default();
        // The byte that a `-` here would make the start of a range.
        let mut previous = None;
        loop {
            let mut byte = *pattern.get(at)?;
            at += 1;
            match byte {
                b']' if at - 1 > first => break,
                b'-' if previous.is_some() && *pattern.get(at)? != b']' => {
                    let mut end = pattern[at];
                    at += 1;
                    if end == b'\\' {
                        end = *pattern.get(at)?;
                        at += 1;
                    }
                    for byte in previous.take()?..=end {
                        class.insert(byte);
                    }
                    continue;
                }
                b'[' if pattern.get(at) == Some(&b':') => {
                    let end = at + pattern[at..].iter().position(|&byte| byte == b']')?;
                    // Without `:]` this is an ordinary `[`.
                    if end > at + 1 && pattern[end - 1] == b':' {
                        let contains = named_class(&pattern[at + 1..end - 1])?;
                        (0..=u8::MAX).filter(contains).for_each(|byte| class.insert(byte));
                        at = end + 1;
                        previous = None;
                        continue;
                    }
                }
                b'\\' => {
                    byte = *pattern.get(at)?;
                    at += 1;
                }
                _ => {}
            }
            class.insert(byte);
            previous = Some(byte);
        }
        if negated {
            class.0.iter_mut().for_each(|word| *word = !*word);
        }
        Some((class, at))
    }

    fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte) / 64] |= 1 << (byte % 64);
    }

    fn contains(&self, byte: u8) -> bool {
        byte != b'/' && self.0[usize::from(byte) / 64] & (1 << (byte % 64)) != 0
    }
}

/// The classes that Git knows, in ASCII. Its white space is without vertical tab and form feed.
fn named_class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |byte| matches!(byte, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |byte| matches!(byte, 0x20..=0x7e),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Glob;

    /// Which of `texts` the pattern matches.
    fn matches<'a>(pattern: &str, texts: &[&'a str]) -> Vec<&'a str> {
        let glob = Glob::compile(pattern.as_bytes());
        texts.iter().copied().filter(|text| glob.as_ref().is_some_and(|glob| glob.matches(text.as_bytes()))).collect()
    }

    #[test]
    fn stars_stay_in_a_directory_unless_alone_between_slashes() {
        let texts = ["b", "a/b", "a/x/b", "a/x/y/b", "ab"];
        assert_eq!(matches("*b", &texts), ["b", "ab"]);
        assert_eq!(matches("a/*/b", &texts), ["a/x/b"]);
        assert_eq!(matches("a/**/b", &texts), ["a/b", "a/x/b", "a/x/y/b"]);
        assert_eq!(matches("**/b", &texts), ["b", "a/b", "a/x/b", "a/x/y/b"]);
        assert_eq!(matches("a/**", &texts), ["a/b", "a/x/b", "a/x/y/b"]);
        assert_eq!(matches("?/x**/b", &texts), ["a/x/b"]);
        assert_eq!(matches("a/**\\/b", &texts), ["a/x/b", "a/x/y/b"]);
    }

    #[test]
    fn stars_after_the_literal_beginning_are_free_as_in_git() {
        assert_eq!(matches("foo**/bar", &["foo/x/bar", "foobar", "fooz/bar"]), ["foo/x/bar", "foobar", "fooz/bar"]);
        assert_eq!(matches("f?o**/bar", &["foo/x/bar", "foobar", "fooz/bar"]), ["fooz/bar"]);
    }

    #[test]
    fn classes() {
        let texts = ["a", "b", "-", "]", "[", ":", "\\", "!", "/", "7", " "];
        assert_eq!(matches("[a-b]", &texts), ["a", "b"]);
        assert_eq!(matches("[]-]", &texts), ["-", "]"]);
        assert_eq!(matches("[!]a-z[:digit:]]", &texts), ["-", "[", ":", "\\", "!", " "]);
        assert_eq!(matches("[[:a]", &texts), ["a", "[", ":"]);
        assert_eq!(matches("[\\]\\\\]", &texts), ["]", "\\"]);
        assert_eq!(matches("[[:space:][:alpha:]]", &texts), ["a", "b", " "]);
        assert_eq!(matches("[[:a]*b", &["axxb", "axxc"]), ["axxb"]);
    }

    #[test]
    fn malformed_patterns_match_nothing() {
        for pattern in ["", "a\\", "[", "[a", "[]", "[!", "[a-", "[[:nope:]]", "[a\\"] {
            assert!(Glob::compile(pattern.as_bytes()).is_none(), "{pattern}");
        }
    }

    #[test]
    fn hostile_patterns_are_fast() {
        let text = "a".repeat(4000);
        assert_eq!(matches(&format!("{}b", "a*".repeat(500)), &[&text]), [""; 0]);
        assert_eq!(matches(&format!("{}[b]", "**/*a/".repeat(50)), &["a/".repeat(2000).as_str()]), [""; 0]);
    }
}
