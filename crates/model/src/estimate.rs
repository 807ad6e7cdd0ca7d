//! Usage, where nobody reports it.

use throughline_core::tokens::Counter;
use throughline_core::{Usage, Wire};
use throughline_wire::{Request, Response};

/// No request is anywhere near this; a figure above it is a slip, and adding such figures up must not overflow.
const CREDIBLE: u64 = 1 << 40;

/// Whether a provider reported usage that can be true.
pub(crate) fn is_credible(usage: &Usage) -> bool {
    let Usage { input, cache_read, cache_write, output, reasoning } = *usage;
    let figures = [input, cache_read, cache_write, output, reasoning];
    figures.iter().all(|figure| *figure <= CREDIBLE) && usage.prompt() > 0
}

/// An estimate from the request's bytes and the answer. Everything counts as uncached input.
pub(crate) fn usage(wire: Wire, model: &str, body: &[u8], response: &Response) -> Usage {
    let mut counter = Counter::for_model(model);
    let input = prompt(wire, &mut counter, body);
    let output = response.messages.iter().map(|message| counter.message(message).total()).sum();
    Usage { input, output, ..Usage::default() }
}

/// An estimate of the tokens of a request.
pub(crate) fn prompt(wire: Wire, counter: &mut Counter, body: &[u8]) -> u64 {
    match Request::decode(wire, body) {
        Ok(request) => {
            let system = request.system().map_or(0, |system| counter.text(&system));
            let tools = request.tools().map_or(0, |tools| counter.json(tools));
            counter.view(&request.messages).total() + system + tools
        }
        Err(_) => counter.text(&String::from_utf8_lossy(body)),
    }
}

/// Adds usage up.
pub(crate) fn add(total: &mut Usage, more: &Usage) {
    let Usage { input, cache_read, cache_write, output, reasoning } = *more;
    total.input = total.input.saturating_add(input);
    total.cache_read = total.cache_read.saturating_add(cache_read);
    total.cache_write = total.cache_write.saturating_add(cache_write);
    total.output = total.output.saturating_add(output);
    total.reasoning = total.reasoning.saturating_add(reasoning);
}
