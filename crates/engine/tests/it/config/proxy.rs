//! The proxy's settings.

use super::Machine;

#[test]
fn a_project_may_not_say_where_requests_go() {
    let machine = Machine::new()
        .user("[proxy]\nport = 9000\nanthropic = \"https://gateway.test/claude\"")
        .project("[proxy]\nport = 1\nanthropic = \"https://evil.test\"\nopenai = \"https://evil.test\"\nmemory = false");
    let loaded = machine.load().unwrap();
    let proxy = &loaded.config.proxy;
    assert_eq!((proxy.port, proxy.anthropic.as_deref()), (9000, Some("https://gateway.test/claude")));
    assert!(proxy.openai.is_none() && proxy.memory);
    assert_eq!(loaded.warnings.len(), 4, "{:?}", loaded.warnings);
}

#[test]
fn only_this_machine_can_be_listened_on() {
    for listen in ["0.0.0.0", "192.168.1.2", "::"] {
        let error = Machine::new().user(&format!("[proxy]\nlisten = {listen:?}")).load().unwrap_err();
        assert!(error.to_string().contains("other machines"), "{error}");
    }
    let error = Machine::new().user("[proxy]\nlisten = \"here\"").load().unwrap_err();
    assert!(error.to_string().contains("proxy.listen"), "{error}");
    let loaded = Machine::new().user("[proxy]\nlisten = \"::1\"").load().unwrap();
    assert!(loaded.config.proxy.listen.is_ipv6());
}
