//! Evaluates a parsed template: each step is applied to all values that the step before it yielded.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::{JsonPath, Operator, PathStep, RenderError};

/// Returns what a path leads to from each of the given values.
pub(super) fn find<'a>(
    path: &'a JsonPath,
    from: Vec<&'a Value>,
) -> Result<Vec<&'a Value>, RenderError> {
    let mut values = from;
    for step in &path.steps {
        values = follow(step, values)?;
    }
    Ok(values)
}

fn follow<'a>(step: &'a PathStep, values: Vec<&'a Value>) -> Result<Vec<&'a Value>, RenderError> {
    let mut found = Vec::new();
    match step {
        PathStep::Key(name) => {
            found.extend(values.into_iter().filter_map(|value| value.as_object()?.get(name)));
        }
        PathStep::Wildcard => values.into_iter().for_each(|value| found.extend(children(value))),
        PathStep::Descend => values.into_iter().for_each(|value| descend(value, &mut found)),
        PathStep::Index(index) => {
            for list in lists(values) {
                found.push(pick(list?, *index)?);
            }
        }
        PathStep::Slice { from, to, step } => {
            for list in lists(values) {
                found.extend(cut(list?, *from, *to)?.iter().step_by(*step));
            }
        }
        PathStep::Union(paths) => {
            for path in paths {
                found.extend(find(path, values.clone())?);
            }
        }
        PathStep::Filter { left, test } => {
            for list in lists(values) {
                for item in list? {
                    if passes(item, left, test.as_ref())? {
                        found.push(item);
                    }
                }
            }
        }
        // Text stands for itself once; a number stands for every value, which is how kubectl has it.
        PathStep::Literal(text @ Value::String(_)) => found.push(text),
        PathStep::Literal(number) => found.extend(values.iter().map(|_| number)),
    }
    Ok(found)
}

/// Yields the lists among values. A null is a list that Go never filled, and is passed over.
fn lists(values: Vec<&Value>) -> impl Iterator<Item = Result<&[Value], RenderError>> {
    values.into_iter().filter(|value| !value.is_null()).map(|value| match value {
        Value::Array(items) => Ok(items.as_slice()),
        other => Err(RenderError::NotAnArray { found: type_of(other) }),
    })
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Lists a value and all beneath it, parents first. Empty things, numbers and the like are left out, as kubectl leaves them out.
fn descend<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    let something = match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => false,
    };
    if something {
        found.push(value);
        children(value).for_each(|child| descend(child, found));
    }
}

fn pick(list: &[Value], index: i64) -> Result<&Value, RenderError> {
    let at = from_end(list, index);
    let item = usize::try_from(at).ok().and_then(|at| list.get(at));
    item.ok_or(RenderError::OutOfBounds { index, length: list.len() })
}

fn cut(list: &[Value], from: Option<i64>, to: Option<i64>) -> Result<&[Value], RenderError> {
    let begin = from_end(list, from.unwrap_or(0));
    let end = to.map_or_else(|| from_end_of(list), |to| from_end(list, to));
    // Nothing asked for is nothing wanted, wherever it lies.
    if begin == end {
        return Ok(&[]);
    }
    let outside = |index| RenderError::OutOfBounds { index, length: list.len() };
    let inside = |place, longest| usize::try_from(place).ok().filter(|place| *place <= longest);
    let first =
        inside(begin, list.len().saturating_sub(1)).ok_or_else(|| outside(from.unwrap_or(0)))?;
    let beyond =
        inside(end, list.len()).ok_or_else(|| outside(to.unwrap_or(0).saturating_sub(1)))?;
    list.get(first..beyond).ok_or(RenderError::Reversed { from: begin, to: end })
}

fn from_end(list: &[Value], index: i64) -> i64 {
    if index < 0 { from_end_of(list).saturating_add(index) } else { index }
}

fn from_end_of(list: &[Value]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

fn passes(
    item: &Value,
    left: &JsonPath,
    test: Option<&(Operator, JsonPath)>,
) -> Result<bool, RenderError> {
    let Some((operator, right)) = test else {
        // What cannot be reached does not exist.
        return Ok(find(left, vec![item]).is_ok_and(|found| !found.is_empty()));
    };
    let (Some(left), Some(right)) = (single(left, item)?, single(right, item)?) else {
        return Ok(false);
    };
    compare(left, *operator, right)
}

fn single<'a>(path: &'a JsonPath, item: &'a Value) -> Result<Option<&'a Value>, RenderError> {
    match find(path, vec![item])?.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(RenderError::Ambiguous),
    }
}

fn compare(left: &Value, operator: Operator, right: &Value) -> Result<bool, RenderError> {
    let incomparable = || RenderError::Incomparable { left: type_of(left), right: type_of(right) };
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Number(left), Value::Number(right)) => {
            compare_numbers(left, right).ok_or_else(incomparable)?
        }
        (Value::Bool(left), Value::Bool(right))
            if matches!(operator, Operator::Equal | Operator::NotEqual) =>
        {
            left.cmp(right)
        }
        _ => return Err(incomparable()),
    };
    Ok(match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
    })
}

/// Compares byte counts exactly: a fraction cannot hold all of them.
fn compare_numbers(left: &Number, right: &Number) -> Option<Ordering> {
    let whole = |number: &Number| {
        number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
    };
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
