"""The flags of `chat` and `run` as the runtime takes them."""

from __future__ import annotations

from argparse import Namespace

from agentcli.runtime.options import Options, PermissionMode


def options_of(chosen: Namespace, *, headless: bool) -> Options:
    """What the flags say; the runtime looks at what they name."""
    return Options(
        cwd=chosen.cwd,
        add_dirs=tuple(chosen.add_dir),
        resume=chosen.resume,
        continue_=chosen.continue_,
        fork=chosen.fork,
        mode=PermissionMode(chosen.mode) if chosen.mode else None,
        model=chosen.model,
        api=chosen.api,
        max_iters=chosen.max_iters,
        max_cost=chosen.max_cost,
        max_tokens=chosen.max_tokens,
        external_tools=chosen.external_tools,
        theme=chosen.theme,
        headless=headless,
        dry=headless and chosen.dry_run,
    )
