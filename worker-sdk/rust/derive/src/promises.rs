//! What the attribute's arguments say of a function: its name and its promises.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::{Error, LitFloat, LitInt, LitStr, Result};

const KNOWN: &str =
    "name, summary, idempotent, timeout, slots, weight, coefficient, exclusive, batch, stream";

/// The arguments of the attribute.
#[derive(Default)]
pub(crate) struct Promises {
    pub(crate) name: Option<String>,
    pub(crate) summary: Option<String>,
    /// It gives its items as something to iterate over.
    pub(crate) stream: bool,
    /// It takes the inputs of so many calls at once, which wait so many milliseconds for one another.
    pub(crate) batch: Option<(u32, u64)>,
    idempotent: bool,
    timeout_ms: Option<u64>,
    slots: Option<u32>,
    weight: Option<u8>,
    coefficient: Option<f64>,
    exclusive: Option<&'static str>,
}

impl Promises {
    /// Reads one argument.
    pub(crate) fn read(&mut self, argument: &ParseNestedMeta<'_>) -> Result<()> {
        let name = argument.path.get_ident().map(ToString::to_string).unwrap_or_default();
        match name.as_str() {
            "name" => self.name = Some(not_empty(&argument.value()?.parse()?)?),
            "summary" => self.summary = Some(argument.value()?.parse::<LitStr>()?.value()),
            "idempotent" => self.idempotent = true,
            "stream" => self.stream = true,
            "batch" => self.batch = Some(batch(argument)?),
            "timeout" => self.timeout_ms = Some(milliseconds(&argument.value()?.parse()?)?),
            "slots" => self.slots = Some(between(&argument.value()?.parse()?, 1, u32::MAX)?),
            "weight" => self.weight = Some(between(&argument.value()?.parse()?, 1, 100)?),
            "coefficient" => self.coefficient = Some(factor(argument)?),
            "exclusive" => self.exclusive = Some(place(&argument.value()?.parse()?)?),
            _ => return Err(argument.error(format!("an action knows no such argument, but {KNOWN}"))),
        }
        Ok(())
    }

    /// As methods of the `Function` that is built.
    pub(crate) fn methods(&self) -> TokenStream {
        let with =
            |method: TokenStream, value: Option<TokenStream>| value.map(|value| quote!(.#method(#value)));
        let exclusive = self.exclusive.map(|place| match place {
            "node" => quote!(::ganger_worker::Exclusive::Node),
            _ => quote!(::ganger_worker::Exclusive::Worker),
        });
        let timeout = self.timeout_ms.map(|ms| quote!(::core::time::Duration::from_millis(#ms)));
        let methods = [
            with(quote!(summary), self.summary.as_ref().map(ToTokens::to_token_stream)),
            self.idempotent.then(|| quote!(.idempotent(true))),
            with(quote!(timeout), timeout),
            with(quote!(slots), self.slots.as_ref().map(ToTokens::to_token_stream)),
            with(quote!(weight), self.weight.as_ref().map(ToTokens::to_token_stream)),
            with(quote!(coefficient), self.coefficient.as_ref().map(ToTokens::to_token_stream)),
            with(quote!(exclusive), exclusive),
        ];
        methods.into_iter().flatten().collect()
    }
}

fn not_empty(text: &LitStr) -> Result<String> {
    if text.value().is_empty() {
        Err(Error::new(text.span(), "a name is not empty"))
    } else {
        Ok(text.value())
    }
}

fn between<N: std::str::FromStr + PartialOrd + std::fmt::Display>(
    number: &LitInt,
    least: N,
    most: N,
) -> Result<N>
where
    N::Err: std::fmt::Display,
{
    let wrong = || Error::new(number.span(), format!("between {least} and {most}, not {number}"));
    number.base10_parse::<N>().ok().filter(|value| (&least..=&most).contains(&value)).ok_or_else(wrong)
}

fn factor(argument: &ParseNestedMeta<'_>) -> Result<f64> {
    let value = argument.value()?;
    if value.peek(LitInt) {
        return value.parse::<LitInt>()?.base10_parse();
    }
    value.parse::<LitFloat>()?.base10_parse()
}

/// `batch(32, "10ms")`.
fn batch(argument: &ParseNestedMeta<'_>) -> Result<(u32, u64)> {
    let both;
    syn::parenthesized!(both in argument.input);
    let max = between(&both.parse()?, 1, u32::MAX)?;
    both.parse::<syn::Token![,]>()?;
    let wait: LitStr = both.parse()?;
    let wait = if is_zero(&wait) { 0 } else { milliseconds(&wait)? };
    if both.is_empty() { Ok((max, wait)) } else { Err(both.error("a batch has a size and a time")) }
}

fn is_zero(text: &LitStr) -> bool {
    matches!(text.value().trim(), "0" | "0ms" | "0s")
}

fn place(text: &LitStr) -> Result<&'static str> {
    match text.value().as_str() {
        "worker" => Ok("worker"),
        "node" => Ok("node"),
        other => Err(Error::new(
            text.span(),
            format!("exclusive on its \"worker\" or its \"node\", not {other:?}"),
        )),
    }
}

/// `250ms`, `1.5s`, `2m`, `1h`.
fn milliseconds(text: &LitStr) -> Result<u64> {
    let written = text.value();
    let wrong =
        || Error::new(text.span(), format!("a time such as \"250ms\", \"5s\" or \"2m\", not {written:?}"));
    let unit_at = written.find(|letter: char| letter.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = written.split_at(unit_at);
    let factor = match unit {
        "ms" => 1.0,
        "s" => 1e3,
        "m" => 60e3,
        "h" => 3600e3,
        _ => return Err(wrong()),
    };
    let time = number.trim().parse::<f64>().map_err(|_| wrong())? * factor;
    // Beyond that a float no longer counts milliseconds.
    if (1.0..=9e15).contains(&time) { Ok(time.round() as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use syn::parse::Parser;

    use super::*;

    fn read(arguments: &str) -> Result<Promises> {
        let mut promises = Promises::default();
        let parser = syn::meta::parser(|argument| promises.read(&argument));
        parser.parse_str(arguments)?;
        Ok(promises)
    }

    #[test]
    fn times_have_units() {
        let time =
            |text: &str| read(&format!("timeout = \"{text}\"")).ok().and_then(|promises| promises.timeout_ms);
        assert_eq!(
            ["250ms", "5s", "1.5 s", "2m", "1h"].map(time),
            [250, 5000, 1500, 120_000, 3_600_000].map(Some)
        );
        assert_eq!(["5", "0s", "-1s", "5 days", "", "1e40s", "NaNs"].map(time), [None; 7]);
    }

    #[test]
    fn what_is_out_of_range_or_unknown_is_refused_by_the_compiler() {
        let refusal = |text: &str| read(text).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(refusal("weight = 101"), "between 1 and 100, not 101");
        assert_eq!(refusal("slots = 0"), "between 1 and 4294967295, not 0");
        assert_eq!(
            refusal("exclusive = \"pool\""),
            "exclusive on its \"worker\" or its \"node\", not \"pool\""
        );
        assert!(refusal("idempotnt").contains("idempotent"));
        assert!(refusal("name = \"\"").contains("empty"));
        assert_eq!(refusal("batch(0, \"1ms\")"), "between 1 and 4294967295, not 0");
        assert!(refusal("batch(2, \"soon\")").contains("a time such as"));
        assert!(!refusal("batch(2)").is_empty() && !refusal("batch(2, \"1s\", 3)").is_empty());
    }

    #[test]
    fn a_batch_has_a_size_and_a_time() {
        let batch = |text: &str| read(text).ok().and_then(|promises| promises.batch);
        assert_eq!(batch("batch(32, \"10ms\")"), Some((32, 10)));
        assert_eq!(batch("batch(1, \"0\")"), Some((1, 0)));
    }
}
