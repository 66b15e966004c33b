//! Deltas, as stock git writes them: what `git repack` made of a store has to be checked and mended as well.

use crate::error::Fault;

/// The content that `delta` makes of `base`. Form: sizes of both, then copies from the base and literal bytes
/// (gitformat-pack).
pub(crate) fn apply(base: &[u8], delta: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut rest = delta;
    let base_size = take_size(&mut rest)?;
    let size = take_size(&mut rest)?;
    if base_size != base.len() as u64 {
        return Err(Fault::damaged("a delta is for a base of another size"));
    }
    // The size is not believed: what the delta makes is bounded by what it says piece by piece.
    let mut content = Vec::with_capacity(usize::try_from(size.min(16 << 20)).unwrap_or(0));
    while let Some(code) = take(&mut rest) {
        if code & 0x80 != 0 {
            let (mut offset, mut len) = (0_usize, 0_usize);
            for number in 0..4 {
                if code & (1 << number) != 0 {
                    offset |= usize::from(take(&mut rest).ok_or_else(ends_early)?) << (8 * number);
                }
            }
            for number in 0..3 {
                if code & (0x10 << number) != 0 {
                    len |= usize::from(take(&mut rest).ok_or_else(ends_early)?) << (8 * number);
                }
            }
            let len = if len == 0 { 0x10000 } else { len };
            let copied = base.get(offset..).and_then(|base| base.get(..len));
            content.extend_from_slice(copied.ok_or_else(|| Fault::damaged("a delta copies from beyond its base"))?);
        } else if code != 0 {
            let (literal, after) = rest.split_at_checked(usize::from(code)).ok_or_else(ends_early)?;
            content.extend_from_slice(literal);
            rest = after;
        } else {
            return Err(Fault::damaged("a delta has an instruction that has no meaning"));
        }
        if content.len() as u64 > size {
            return Err(Fault::damaged("a delta makes more than it says"));
        }
    }
    if content.len() as u64 != size {
        return Err(Fault::damaged("a delta makes less than it says"));
    }
    Ok(content)
}

fn ends_early() -> Fault {
    Fault::damaged("a delta ends early")
}

fn take(rest: &mut &[u8]) -> Option<u8> {
    let (&byte, after) = rest.split_first()?;
    *rest = after;
    Some(byte)
}

fn take_size(rest: &mut &[u8]) -> Result<u64, Fault> {
    let (mut size, mut shift) = (0_u64, 0);
    loop {
        let byte = take(rest).ok_or_else(ends_early)?;
        let bits = u64::from(byte & 0x7f);
        if shift >= 64 || bits << shift >> shift != bits {
            return Err(Fault::damaged("a delta has a size beyond 64 bits"));
        }
        size |= bits << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            return Ok(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_literals_make_the_content() {
        let base = b"hello world";
        let delta = [&[11, 8, 0x90, 5, 3][..], b", x"].concat();
        assert_eq!(apply(base, &delta).unwrap(), b"hello, x");
    }

    #[test]
    fn hostile_deltas_are_errors() {
        let base = b"hello world";
        for delta in [
            &b""[..],
            &[11],
            &[10, 1, 1, b'x'],
            &[11, 2, 1, b'x'],
            &[11, 1, 2, b'x', b'y'],
            &[11, 5, 0x91, 9, 5],
            &[11, 5, 0x80],
            &[11, 1, 0],
            &[0xff; 12],
        ] {
            assert!(apply(base, delta).is_err(), "{delta:?}");
        }
    }
}
