//! From a function with the attribute to itself and a description that registers it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::{Attribute, Error, Expr, FnArg, ItemFn, Lit, Meta, Result, ReturnType, Type, TypeParamBound};

use crate::promises::Promises;

/// The function as it was written, and what registers it; or what is wrong.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let registration = registration(arguments, item.clone()).unwrap_or_else(Error::into_compile_error);
    quote!(#item #registration)
}

/// How a function answers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Value,
    Async,
    Items,
    AsyncItems,
    Batch,
    AsyncBatch,
}

fn registration(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let item: ItemFn = syn::parse2(item)?;
    refuse_what_is_no_function_of_a_worker(&item)?;
    let mut promises = Promises::default();
    syn::meta::parser(|argument| promises.read(&argument)).parse2(arguments)?;
    promises.summary = promises.summary.or_else(|| first_paragraph(&item.attrs));
    let way = way(&item, promises.stream)?.with_batch(&item, promises.batch.is_some())?;
    let name = promises.name.clone().unwrap_or_else(|| item.sig.ident.unraw().to_string());
    let function = function(&item, way, &name, &promises);
    Ok(quote! {
        const _: () = {
            // The function may have any name but this.
            fn __function_of_action() -> ::ganger_worker::Function {
                use ::ganger_worker::actions::{
                    self, Described as _, DescribedPart as _, Undescribed as _, UndescribedPart as _,
                };
                #function
            }
            ::ganger_worker::actions::submit! { ::ganger_worker::actions::Action { function: __function_of_action } }
        };
    })
}

/// The `Function`, with the schemas that its types have.
fn function(item: &ItemFn, way: Way, name: &str, promises: &Promises) -> TokenStream {
    let (handler, parts) = (handler(item), parts(item));
    let (constructor, output) = way.constructor_and_output();
    let batch = promises.batch.map(|(max, ms)| quote!(#max, ::core::time::Duration::from_millis(#ms),));
    let input = if batch.is_some() { quote!(each_input) } else { quote!(input) };
    let promises = promises.methods();
    quote! {
        let handler = #handler;
        let function = ::ganger_worker::Function::#constructor(#name, #batch handler);
        function
            #promises
            .described(actions::Types {
                input: (&actions::#input(handler)).read_schema(),
                output: (&actions::#output(handler)).written_schema(),
            })
            #( .with_part((&actions::part::<#parts>()).part_schema()) )*
    }
}

impl Way {
    /// How `Function` makes it, and what finds the type of what it gives.
    fn constructor_and_output(self) -> (TokenStream, TokenStream) {
        match self {
            Self::Value => (quote!(new), quote!(value)),
            Self::Async => (quote!(new_async), quote!(future)),
            Self::Items => (quote!(stream), quote!(items)),
            Self::AsyncItems => (quote!(stream_async), quote!(async_items)),
            Self::Batch => (quote!(batch), quote!(each_result)),
            Self::AsyncBatch => (quote!(batch_async), quote!(each_future_result)),
        }
    }

    /// The same for a function that takes the inputs of several calls.
    fn with_batch(self, item: &ItemFn, has_batch: bool) -> Result<Self> {
        match (self, has_batch) {
            (way, false) => Ok(way),
            (Self::Value, true) => Ok(Self::Batch),
            (Self::Async, true) => Ok(Self::AsyncBatch),
            (Self::Items | Self::AsyncItems | Self::Batch | Self::AsyncBatch, true) => {
                let message = "a function of batches returns a list of results, one for each call";
                Err(Error::new_spanned(&item.sig.output, message))
            }
        }
    }
}

fn refuse_what_is_no_function_of_a_worker(item: &ItemFn) -> Result<()> {
    let signature = &item.sig;
    if !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &signature.generics,
            "an action is one function, without parameters of type",
        ));
    }
    match signature.inputs.first() {
        Some(FnArg::Receiver(receiver)) => {
            Err(Error::new_spanned(receiver, "an action is a function; what all calls share is a `State<T>`"))
        }
        Some(FnArg::Typed(_)) | None => Ok(()),
    }
}

/// `impl Iterator` and `impl Stream` say it themselves.
fn way(item: &ItemFn, stream: bool) -> Result<Way> {
    match (given(item).as_deref(), item.sig.asyncness) {
        (Some("Stream"), None) => Ok(Way::AsyncItems),
        (Some("Iterator" | "IntoIterator" | "DoubleEndedIterator" | "ExactSizeIterator"), None) => {
            Ok(Way::Items)
        }
        (Some("Future"), None) if !stream => Ok(Way::Async),
        (_, None) => Ok(if stream { Way::Items } else { Way::Value }),
        (_, Some(_)) if !stream => Ok(Way::Async),
        (_, Some(word)) => {
            let message =
                "an asynchronous stream is a function that returns `impl Stream`, or takes a `Sender`";
            Err(Error::new_spanned(word, message))
        }
    }
}

/// The trait of the `impl Trait` that it returns.
fn given(item: &ItemFn) -> Option<String> {
    match &item.sig.output {
        ReturnType::Type(_, given) => bound_of(given),
        ReturnType::Default => None,
    }
}

/// The trait of an `impl Trait`.
fn bound_of(given: &Type) -> Option<String> {
    let Type::ImplTrait(given) = given else { return None };
    given.bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        bound.path.segments.last().map(|segment| segment.ident.to_string())
    })
}

/// The function, or what takes nil for one that takes nothing, and iterates over what only promises that it can be.
fn handler(item: &ItemFn) -> TokenStream {
    let name = &item.sig.ident;
    let takes: Vec<_> = (0..item.sig.inputs.len()).map(|index| format_ident!("input_{index}")).collect();
    let nil = item.sig.inputs.is_empty().then(|| quote!((): ()));
    let iterates = (given(item).as_deref() == Some("IntoIterator")).then(|| quote!(.into_iter()));
    if nil.is_none() && iterates.is_none() {
        return quote!(#name);
    }
    quote!(|#nil #(#takes),*| #name(#(#takes),*) #iterates)
}

/// The types of what it takes beside its input.
fn parts(item: &ItemFn) -> Vec<&Type> {
    let typed = item.sig.inputs.iter().skip(1).filter_map(|input| match input {
        FnArg::Typed(input) => Some(&*input.ty),
        FnArg::Receiver(_) => None,
    });
    typed.collect()
}

/// The first paragraph of its documentation, on one line.
fn first_paragraph(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes
        .iter()
        .filter_map(documentation)
        .flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>());
    let lines: Vec<_> = lines.skip_while(String::is_empty).take_while(|line| !line.is_empty()).collect();
    Some(lines.join(" ")).filter(|summary| !summary.is_empty())
}

fn documentation(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(literal) = &pair.value else { return None };
    let Lit::Str(text) = &literal.lit else { return None };
    // An empty line is one.
    pair.path.is_ident("doc").then(|| text.value() + if text.value().is_empty() { "\n" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> ItemFn {
        syn::parse_str(text).expect("the test writes a function")
    }

    fn way_of(text: &str, stream: bool) -> Option<Way> {
        way(&parsed(text), stream).ok()
    }

    #[test]
    fn the_way_to_answer_is_read_from_the_signature() {
        assert_eq!(way_of("fn f(x: u8) -> u8 { x }", false), Some(Way::Value));
        assert_eq!(way_of("fn f(x: u8) {}", false), Some(Way::Value));
        assert_eq!(way_of("async fn f(x: u8) -> u8 { x }", false), Some(Way::Async));
        assert_eq!(
            way_of("fn f(x: u8) -> impl Iterator<Item = u8> + Send { 0..x }", false),
            Some(Way::Items)
        );
        assert_eq!(way_of("fn f(x: u8) -> Vec<u8> { vec![x] }", true), Some(Way::Items));
        assert_eq!(
            way_of("fn f(x: u8) -> impl futures::Stream<Item = u8> { y }", false),
            Some(Way::AsyncItems)
        );
        assert_eq!(way_of("async fn f(x: u8) -> u8 { x }", true), None);
    }

    #[test]
    fn a_batch_gives_one_value_for_each_call() {
        let way = |text: &str| {
            let item = parsed(text);
            way(&item, false).and_then(|way| way.with_batch(&item, true)).ok()
        };
        assert_eq!(way("fn f(x: Vec<u8>) -> Vec<u8> { x }"), Some(Way::Batch));
        assert_eq!(way("async fn f(x: Vec<u8>) -> Vec<u8> { x }"), Some(Way::AsyncBatch));
        assert_eq!(way("fn f(x: Vec<u8>) -> impl Iterator<Item = u8> { x.into_iter() }"), None);
    }

    #[test]
    fn the_summary_is_the_first_paragraph() {
        let item = parsed("/// Converts a price\n/// by the rate of the day.\n///\n/// And more.\nfn f() {}");
        assert_eq!(first_paragraph(&item.attrs).as_deref(), Some("Converts a price by the rate of the day."));
        assert_eq!(first_paragraph(&parsed("fn f() {}").attrs), None);
    }

    #[test]
    fn what_is_no_function_is_said_so_and_kept() {
        let expanded = expand(
            quote!(),
            quote!(
                fn f<T>(x: T) {}
            ),
        )
        .to_string();
        assert!(expanded.starts_with("fn f"), "{expanded}");
        assert!(expanded.contains("compile_error"), "{expanded}");
        assert!(
            expand(
                quote!(),
                quote!(
                    struct S;
                )
            )
            .to_string()
            .contains("compile_error")
        );
    }
}
