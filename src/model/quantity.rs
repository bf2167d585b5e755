//! Kubernetes quantities of bytes.

/// A number of bytes.
pub type Bytes = u64;

/// Parses a quantity of bytes such as `10Gi`, `1.5T` or `1e9`, rounding up as Kubernetes does.
///
/// `None` when it is not a quantity, is negative, or does not fit 64 bits.
pub fn parse_quantity(text: &str) -> Option<Bytes> {
    let end = text
        .char_indices()
        .find(|(_, c)| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-'))
        .map_or(text.len(), |(index, _)| index);
    let (number, suffix) = text.split_at(end);
    let (multiply, divide) = scale(suffix)?;
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 {
        return None;
    }
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let divide = divide.checked_mul(10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?)?;
    digits.checked_mul(multiply)?.div_ceil(divide).try_into().ok()
}

/// Returns what a suffix multiplies and divides by.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    let power = |base: u128, exponent: u32| Some((base.pow(exponent), 1));
    match suffix {
        "n" => Some((1, 1_000_000_000)),
        "u" => Some((1, 1_000_000)),
        "m" => Some((1, 1000)),
        "" => Some((1, 1)),
        "k" => power(1000, 1),
        "M" => power(1000, 2),
        "G" => power(1000, 3),
        "T" => power(1000, 4),
        "P" => power(1000, 5),
        "E" => power(1000, 6),
        "Ki" => power(1024, 1),
        "Mi" => power(1024, 2),
        "Gi" => power(1024, 3),
        "Ti" => power(1024, 4),
        "Pi" => power(1024, 5),
        "Ei" => power(1024, 6),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            let power = 10_u128.checked_pow(exponent.unsigned_abs().min(30))?;
            Some(if exponent < 0 { (1, power) } else { (power, 1) })
        }
    }
}

/// Returns a number of bytes as a quantity of the largest unit it reaches: exact when it is a
/// multiple of it, else with one decimal.
pub fn format_bytes(bytes: u64) -> String {
    let bytes = u128::from(bytes);
    let tenths_of = |size: u128| (bytes * 10 + size / 2) / size;
    let mut size = 1;
    let mut unit = "";
    for larger in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
        // What would round to 1024 of a unit is one of the next instead.
        if tenths_of(size) < 10_240 {
            break;
        }
        size *= 1024;
        unit = larger;
    }
    let tenths = tenths_of(size);
    if bytes.is_multiple_of(size) {
        format!("{}{unit}", bytes / size)
    } else {
        format!("{}.{}{unit}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_become_bytes() {
        for (text, bytes) in [
            ("10Gi", Some(10 << 30)),
            ("1.5Gi", Some(3 << 29)),
            ("5G", Some(5_000_000_000)),
            ("128974848", Some(128_974_848)),
            ("129e6", Some(129_000_000)),
            ("1E3", Some(1000)),
            ("1E", Some(1_000_000_000_000_000_000)),
            ("100m", Some(1)),
            ("0", Some(0)),
            ("16Ei", None),
            ("-1Gi", None),
            ("ten", None),
            ("", None),
            ("1.2.3", None),
            ("1Zi", None),
        ] {
            assert_eq!(parse_quantity(text), bytes, "{text}");
        }
    }

    #[test]
    fn bytes_are_quantities() {
        const GI: u64 = 1 << 30;
        let cases = [
            (0, "0"),
            (1, "1"),
            (1023, "1023"),
            (1024, "1Ki"),
            (1500, "1.5Ki"),
            (512 << 20, "512Mi"),
            (300 * GI, "300Gi"),
            (1536 * GI, "1.5Ti"),
            (GI + 1, "1.0Gi"),
            (GI - 1, "1.0Gi"),
            (1_000_000_000_000, "931.3Gi"),
            (u64::MAX, "16.0Ei"),
            (1 << 60, "1Ei"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(format_bytes(bytes), expected, "{bytes}");
        }
    }
}
