//! Text and edits at random, the same on every run.

/// The generator of Marsaglia's "Xorshift RNGs" (2003).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn line(&mut self) -> Vec<u8> {
        let lines: [&[u8]; 14] = [
            b"",
            b"}",
            b"{",
            b"    }",
            b"fn main() {",
            b"\tindented",
            b"trailing  ",
            b"carriage\r",
            b"- minus",
            b"+ plus",
            b"\\ No newline at end of file",
            b"-- a/x",
            b"_long line of text that goes on and on, far beyond the eighty bytes which Git shows",
            "$ äöü €".as_bytes(),
        ];
        lines[self.below(lines.len())].to_vec()
    }

    pub(super) fn text(&mut self, max_lines: usize) -> Vec<Vec<u8>> {
        (0..self.below(max_lines + 1)).map(|_| self.line()).collect()
    }

    pub(super) fn edit(&mut self, mut lines: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        for _ in 0..=self.below(5) {
            let at = self.below(lines.len() + 1);
            let end = (at + self.below(4)).min(lines.len());
            let replacement = self.text(3);
            lines.splice(at..end, replacement);
        }
        lines
    }

    /// Joins lines, sometimes without a newline after the last.
    pub(super) fn join(&mut self, lines: &[Vec<u8>]) -> Vec<u8> {
        let mut text = lines.join(b"\n".as_slice());
        if self.below(3) > 0 && !lines.is_empty() {
            text.push(b'\n');
        }
        text
    }
}
