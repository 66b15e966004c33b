//! A TOML file as a source: its two tables, with the line of each key.

use std::fs;
use std::path::Path;

use figment::value::{Empty, Tag, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Error;
use crate::layer::{Layer, Table};
use crate::loader::Ground;
use crate::origin::Origin;
use crate::reading::{Site, describe};
use crate::search::{PYPROJECT_NAME, PYPROJECT_TABLE};
use crate::trust::Fence;
use crate::warning::Warning;

/// Reads the layers of a file, highest first.
pub(crate) fn layers(
    path: &Path,
    fence: &Fence,
    ground: &Ground,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Layer>, Error> {
    let bytes = fs::read(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
    let text = decode(path, &bytes)?;
    let document = DeTable::parse(text).map_err(|err| malformed(path, text, err.span(), err.message()))?;
    let prefix = if path.file_name().is_some_and(|name| name == PYPROJECT_NAME) { PYPROJECT_TABLE } else { &[] };
    let reader = Reader { path, text, ground, is_inside_worktree: fence.holds(path) };
    let mut layers = Vec::new();
    for (table, tail) in [(Table::Checkpoint, &["checkpoint"][..]), (Table::Ext, &["ext", "checkpoint"])] {
        let names: Vec<_> = prefix.iter().chain(tail).copied().collect();
        if let Some(entries) = reader.table_at(document.get_ref(), &names)? {
            layers.push(reader.layer(table, &names.join("."), entries, warnings)?);
        }
    }
    Ok(layers)
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    ground: &'a Ground,
    is_inside_worktree: bool,
}

impl Reader<'_> {
    /// Goes down the named tables; absent ones are no error, other values in their place are.
    fn table_at<'t, 'i>(&self, document: &'t DeTable<'i>, names: &[&str]) -> Result<Option<&'t DeTable<'i>>, Error> {
        let mut table = document;
        for (depth, name) in names.iter().enumerate() {
            let Some((key, value)) = table.get_key_value(*name) else { return Ok(None) };
            let DeValue::Table(inner) = value.get_ref() else {
                return Err(Error::Invalid {
                    key: names[..=depth].join("."),
                    origin: self.origin(key.span().start),
                    expected: "a table",
                    found: describe(&figment_value(value.get_ref())),
                });
            };
            table = inner;
        }
        Ok(Some(table))
    }

    fn layer(
        &self,
        table: Table,
        name: &str,
        entries: &DeTable<'_>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Layer, Error> {
        let mut layer = Layer::new(format!("[{name}] in {:?}", self.path));
        // The parser hands the keys out by name; people read a file from its top.
        let mut in_order: Vec<_> = entries.iter().collect();
        in_order.sort_by_key(|(key, _)| key.span().start);
        for (written, value) in in_order {
            let origin = self.origin(written.span().start);
            let full_name = format!("{name}.{}", written.get_ref());
            let key = match table.admit(written.get_ref(), &full_name, &origin) {
                Ok(key) => key,
                Err(warning) => {
                    warnings.push(warning);
                    continue;
                }
            };
            if self.is_inside_worktree && !key.is_free_in_worktree {
                warnings.push(Warning::UntrustedKey { key: full_name, origin });
                continue;
            }
            let base = self.path.parent().unwrap_or(&self.ground.working_dir);
            let site = Site { key, full_name: &full_name, origin: &origin, base, home: self.ground.home() };
            let setting = site.read(&figment_value(value.get_ref()))?;
            layer.insert(setting, origin);
        }
        Ok(layer)
    }

    fn origin(&self, offset: usize) -> Origin {
        Origin::File { path: self.path.to_owned(), line: line_at(self.text, offset) }
    }
}

/// TOML is UTF-8 by definition.
fn decode<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, Error> {
    std::str::from_utf8(bytes).map_err(|err| {
        let line = bytes[..err.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::Malformed { path: path.to_owned(), line, source: Box::new(err) }
    })
}

/// Takes the parser's first line only: its own `Display` draws a picture of the source, which does not fit in a chain.
fn malformed(path: &Path, text: &str, span: Option<std::ops::Range<usize>>, message: &str) -> Error {
    let line = span.map_or(1, |span| line_at(text, span.start));
    let first = message.lines().next().unwrap_or(message);
    Error::Malformed { path: path.to_owned(), line, source: first.into() }
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn figment_value(value: &DeValue<'_>) -> Value {
    let items = |array: &[Spanned<DeValue<'_>>]| array.iter().map(|item| figment_value(item.get_ref())).collect();
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        // A number too long for 128 bits is shown as it was written, and refused as text.
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::from(number.to_string()), Value::from),
        DeValue::Float(number) => {
            number.as_str().parse::<f64>().map_or_else(|_| Value::from(number.to_string()), Value::from)
        }
        DeValue::Boolean(yes) => Value::from(*yes),
        DeValue::Datetime(_) => Value::Empty(Tag::Default, Empty::Unit),
        DeValue::Array(array) => Value::Array(Tag::Default, items(array)),
        DeValue::Table(table) => Value::Dict(
            Tag::Default,
            table.iter().map(|(key, value)| (key.get_ref().to_string(), figment_value(value.get_ref()))).collect(),
        ),
    }
}
