//! What may have been meant by a name that does not exist.

use strsim::damerau_levenshtein;

/// How many names are suggested.
const MOST: usize = 3;
/// The longest name that is compared.
const LONGEST: usize = 253;

/// Returns the names nearest to what was typed, nearest first; none if all differ too much.
pub(crate) fn nearest(typed: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    if typed.is_empty() || typed.len() > LONGEST {
        return Vec::new();
    }
    let near = names.into_iter().filter_map(|name| Some((distance(typed, &name)?, name)));
    let mut near: Vec<_> = near.collect();
    near.sort();
    near.dedup();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// How far a name is from what was typed; `None` if they differ too much.
fn distance(typed: &str, name: &str) -> Option<usize> {
    // A part of a name is often all that was copied.
    if typed.len() >= 3 && name.starts_with(typed) {
        return Some(1);
    }
    if typed.len() >= 3 && name.contains(typed) {
        return Some(2);
    }
    let bound = (typed.chars().count() / 3).max(1);
    // The distance is at least the difference in length.
    if name.len().abs_diff(typed.len()) > bound * 4 {
        return None;
    }
    Some(damerau_levenshtein(typed, name)).filter(|distance| *distance <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(typed: &str) -> Vec<String> {
        let names = ["data-db-0", "data-db-1", "data-web-0", "pvc-lost", "pvc"];
        nearest(typed, names.map(str::to_owned))
    }

    #[test]
    fn typing_errors_are_recognised() {
        assert_eq!(of("data-bd-0"), ["data-db-0", "data-db-1", "data-web-0"]);
        assert_eq!(of("pvc-lots"), ["pvc-lost"]);
        assert_eq!(of("pcv"), ["pvc"]);
        assert_eq!(of("web"), ["data-web-0"]);
    }

    #[test]
    fn what_is_far_is_not_suggested() {
        assert_eq!(of("zzz"), [""; 0]);
        assert_eq!(of(""), [""; 0]);
        assert_eq!(of(&"x".repeat(100_000)), [""; 0]);
    }
}
