//! Any bytes as a request body on each wire: decoding and encoding gives the same JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use throughline_core::Wire;
use throughline_wire::Request;

fuzz_target!(|data: &[u8]| {
    for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
        if let Ok(request) = Request::decode(wire, data) {
            let again = Request::decode(wire, &request.to_bytes()).unwrap();
            assert_eq!(again.to_bytes(), request.to_bytes());
        }
    }
});
