//! The version of a release.

use std::fmt;
use std::str::FromStr;

/// `MAJOR.MINOR.PATCH` with an optional `-pre.release`, as semver.org writes it. Build metadata is refused: registries
/// ignore it, so it cannot tell two releases apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    numbers: [u64; 3],
    /// Without its `-`; empty for a full release.
    pre: String,
}

impl Version {
    /// Whether this release would go back behind `other`. Pre-releases of one version are not ordered among themselves.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        let full = |version: &Self| version.pre.is_empty();
        self.numbers < other.numbers || (self.numbers == other.numbers && !full(self) && full(other))
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
        let parts: Vec<_> = core.split('.').map(number).collect();
        let [Some(major), Some(minor), Some(patch)] = parts[..] else {
            return Err("expected three numbers, as in 0.2.0".to_owned());
        };
        if pre.is_some_and(|pre| !pre.split('.').all(is_pre_part)) {
            return Err("expected letters, digits and hyphens between dots after `-`, as in 0.2.0-rc.1".to_owned());
        }
        Ok(Self { numbers: [major, minor, patch], pre: pre.unwrap_or_default().to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        if self.pre.is_empty() { Ok(()) } else { write!(f, "-{}", self.pre) }
    }
}

fn number(text: &str) -> Option<u64> {
    (is_digits(text) && !has_leading_zero(text)).then(|| text.parse().ok()).flatten()
}

fn is_pre_part(part: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    !part.is_empty() && part.chars().all(allowed) && !(is_digits(part) && has_leading_zero(part))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::Version;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    #[test]
    fn round_trips() {
        for text in ["0.1.0", "10.20.30", "1.0.0-rc.1", "1.0.0-a-b.0"] {
            assert_eq!(version(text).to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_no_version() {
        for text in
            ["", "1", "1.2", "1.2.3.4", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-a..b", "1.2.3-01", "1.2.3+build", "1.+2.3"]
        {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn does_not_go_back() {
        assert!(version("0.1.9").is_before(&version("0.2.0")));
        assert!(version("0.2.0-rc.1").is_before(&version("0.2.0")));
        assert!(!version("0.2.0").is_before(&version("0.2.0")));
        assert!(!version("0.2.0").is_before(&version("0.2.0-rc.1")));
        assert!(!version("0.10.0").is_before(&version("0.9.0")));
    }
}
