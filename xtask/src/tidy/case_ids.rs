//! The ids of the case book.
//!
//! The book itself is docs/cases.md. The list stands here a second time so that a case cannot be lost by deleting its
//! line: an id leaves only by a change of both.

/// Every id, in the order of the book.
#[rustfmt::skip]
pub(super) const CASE_IDS: &[&str] = &[
    // Lost work.
    "L1", "L2", "L3", "L4", "L6", "L8", "L9", "L10", "L11", "L12", "L16", "L18",
    "L20", "L21", "L22", "L23", "L24", "L25", "L28", "L30", "L32", "L33", "L34", "L35",
    "L36", "L37", "L38", "L39", "L40", "L41", "L42", "L43", "L44", "L45", "L46",
    // Wrong result.
    "C1", "C3", "C4", "C6", "C7", "C9", "C11", "C13", "C14", "C15", "C16", "C18",
    "C20", "C21", "C23", "C24", "C28", "C29", "C36", "C38", "C40", "C41", "C42", "C43",
    "C44", "C45", "C46", "C47", "C48",
    // Speed and space.
    "P1", "P3", "P7", "P11", "P14", "P16", "D1", "D3", "D4", "D6", "D7", "D9",
    "D10",
    // Together, and after a crash.
    "X1", "X3", "X4", "X6", "X7", "X8",
    // Hostile input and leaks.
    "S1", "S2", "S3", "S4", "S6", "S7", "S8", "E1",
    // What people see.
    "U1", "U3", "U5", "U6", "U8",
];
