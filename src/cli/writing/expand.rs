//! `kubectl storage expand`: requests a larger size for claims.

use clap::{ArgGroup, Args};

use super::{SavedArgs, WriteArgs, perform};
use crate::{
    cli::{
        Exit, Failure, Interrupt,
        args::{ConnectionArgs, namespace, typed_objects},
        audit::prices::{PriceArgs, PricedBytes, Prices},
        collect::collect,
        terminal,
    },
    cluster::Cx,
    model::{Action, Bytes, Kind, ObjectKey, Text, escape_control, format_bytes, parse_quantity},
    plan::{self, Plan},
    remedies::Growth,
};

/// Arguments of `expand`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("size").required(true))]
pub struct ExpandArgs {
    /// Expand these claims: pvc/NAME
    #[arg(value_name = "pvc/NAME", required = true)]
    claims: Vec<String>,
    /// Find the claims in this namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE", value_parser = namespace)]
    namespace: Option<String>,
    /// Request this size, such as 20Gi
    #[arg(long, value_name = "SIZE", group = "size", value_parser = size)]
    to: Option<Bytes>,
    /// Request so much more: 20% or 5Gi
    #[arg(long, value_name = "MORE", group = "size", value_parser = more)]
    by: Option<Growth>,
    /// Assert that external-resizer of a driver runs, which nothing shows
    #[arg(long, value_name = "DRIVER")]
    resizer_alive: Vec<String>,
    #[command(flatten)]
    prices: PriceArgs,
    #[command(flatten)]
    saved: SavedArgs,
    #[command(flatten)]
    write: WriteArgs,
}

/// Parses a size.
fn size(text: &str) -> Result<Bytes, String> {
    parse_quantity(text)
        .filter(|it| *it > 0)
        .ok_or_else(|| "expected a quantity such as 20Gi".to_owned())
}

/// Least size that `--by` adds: less is a forgotten unit.
const LEAST: Bytes = 1 << 20;

/// Largest growth in per cent.
const MOST: u32 = 10_000;

/// Parses a growth: per cent, or a size with its unit.
fn more(text: &str) -> Result<Growth, String> {
    let Some(percent) = text.strip_suffix('%') else {
        let more = size(text)
            .map_err(|_| "expected per cent, such as 20%, or a quantity such as 5Gi".to_owned())?;
        // An exponent stands for the unit: 1e9 is meant as bytes.
        if text.bytes().all(|it| it.is_ascii_digit() || b".+".contains(&it)) {
            return Err(format!("{text} is a number of bytes; {}", with_unit(text)));
        }
        if more < LEAST {
            let least = format_bytes(LEAST);
            return Err(format!("{text} is less than {least}; write a unit, such as 20% or 20Gi"));
        }
        return Ok(Growth::More(more));
    };
    match percent.parse() {
        Ok(percent @ 1..=MOST) if text.starts_with(|it: char| it.is_ascii_digit()) => {
            Ok(Growth::Percent(percent))
        }
        _ => Err("expected 1% to 10000%, without a fraction".to_owned()),
    }
}

/// Returns the advice to write a number with a unit.
fn with_unit(number: &str) -> String {
    match number.parse() {
        Ok(1..=MOST) if !number.starts_with('+') => format!("write {number}% or {number}Gi"),
        _ => "write a unit, such as 20% or 20Gi".to_owned(),
    }
}

impl ExpandArgs {
    pub(in crate::cli) async fn run(
        self,
        connection: &ConnectionArgs,
        interrupt: &Interrupt,
    ) -> Result<Exit, Failure> {
        let format = self.write.format()?;
        let named = typed_objects(&self.claims, &[Kind::PersistentVolumeClaim])?;
        let prices = self.prices.read()?;
        // clap requires one of them.
        let growth = self.to.map(Growth::To).or(self.by).unwrap_or(Growth::To(0));
        let mut settings = self.write.settings();
        settings.alive_resizers = self.resizer_alive.iter().map(|it| Text::from(&**it)).collect();
        let source = self.saved.or_watched(connection, self.namespace.as_deref())?;
        let mut collected = collect(source, &settings, None).await?;
        let namespace = self.namespace.as_deref().or(collected.namespace.as_deref());
        let namespace = namespace.unwrap_or("default").to_owned();
        let key = |(kind, name): &(Kind, String)| ObjectKey::named(*kind, &namespace, name);
        let keys: Vec<_> = named.iter().map(key).collect();
        let make = |cx: &Cx| {
            let plan = plan::expand(cx, &keys, growth);
            let growing = growing(cx, &plan);
            (plan, growing)
        };
        let (plan, growing) = collected.make(&settings, make).await?;
        tell_cost(growing, prices.as_ref());
        Box::pin(perform::perform(collected, plan, &self.write, &format, interrupt)).await
    }
}

/// Returns how much larger the planned sizes are than what there is.
fn growing(cx: &Cx, plan: &Plan) -> Vec<PricedBytes> {
    let growing = plan.changes.iter().filter_map(|change| {
        let columns = change.about.volume.as_ref()?;
        let (claim, to) = change.proposal.steps.iter().find_map(|it| match it {
            Action::RequestStorage { claim, to, .. } => Some((claim.key.as_claim()?, *to)),
            _ => None,
        })?;
        let claim = cx.claim(&claim).ok().flatten()?;
        let volume = claim.volume_name.as_ref().and_then(|it| cx.volume(it).ok().flatten());
        let more = to.saturating_sub(Growth::base(claim, volume)?);
        Some(([columns.class.clone(), columns.driver.clone()], more))
    });
    growing.collect()
}

/// Tells what the planned growth costs a month, by the user's prices.
fn tell_cost(growing: Vec<PricedBytes>, prices: Option<&Prices>) {
    let Some(prices) = prices else { return };
    let money = prices.money(&[("more", growing)]);
    let currency = money.currency.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
    for row in &money.monthly {
        let unpriced = match row.unpriced_bytes {
            0 => String::new(),
            bytes => format!(" (and {} without a price)", format_bytes(bytes)),
        };
        let told = format!("a month: {:.2}{currency} more{unpriced}", row.cost);
        terminal::note(&escape_control(&told));
    }
}

#[cfg(test)]
mod tests {
    use super::{more, size};
    use crate::remedies::Growth;

    #[test]
    fn a_growth_is_per_cent_or_a_size() {
        for (text, growth) in [
            ("20%", Some(Growth::Percent(20))),
            ("5Gi", Some(Growth::More(5 << 30))),
            ("1.5Gi", Some(Growth::More(3 << 29))),
            ("0%", None),
            ("+5%", None),
            ("-5%", None),
            ("2.5%", None),
            ("%", None),
            ("0", None),
            ("-1Gi", None),
            ("much", None),
            ("1e9", Some(Growth::More(1_000_000_000))),
            ("1Mi", Some(Growth::More(1 << 20))),
            // The unit was forgotten, or another one is meant.
            ("1023Ki", None),
            ("1m", None),
            ("20.5", None),
            ("+20", None),
        ] {
            assert_eq!(more(text).ok(), growth, "{text}");
        }
        let refused = |text: &str| more(text).expect_err("refused");
        assert_eq!(refused("20"), "20 is a number of bytes; write 20% or 20Gi");
        let large = "21474836480 is a number of bytes; write a unit, such as 20% or 20Gi";
        assert_eq!(refused("21474836480"), large);
        assert_eq!(size("1k").ok(), Some(1000));
    }
}
