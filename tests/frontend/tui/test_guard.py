from agentcli.frontend.tui.screens.guard import PAUSE, Guard


def test_no_key_counts_before_it_was_painted():
    assert not Guard().lets(100.0)


def test_a_key_counts_after_the_pause():
    guard = Guard()
    guard.painted(10.0)
    assert guard.lets(10.01 + PAUSE)


def test_an_early_key_begins_the_pause_anew():
    guard = Guard()
    guard.painted(10.0)
    assert not guard.lets(10.1)
    assert not guard.lets(10.0 + PAUSE + 0.05)
    assert guard.lets(10.0 + 2 * PAUSE + 0.06)


def test_a_burst_begins_the_pause_anew():
    guard = Guard()
    guard.painted(10.0)
    guard.disturbed(20.0)
    assert not guard.lets(20.1)
