"""What a command is given as its environment: what builds and languages need, and nothing that asks, steers or tells a secret."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

from agentcli.workspace.root import below
from agentcli.workspace.secrets import SECRET_NAME

CALL_MARK = "AGENTCLI_CALL_ID"
RUN_MARK = "AGENTCLI_COMMAND"

QUIET = {
    "CI": "1",
    "DEBIAN_FRONTEND": "noninteractive",
    "EDITOR": "false",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_SEQUENCE_EDITOR": "false",
    "GIT_TERMINAL_PROMPT": "0",
    "MANPAGER": "cat",
    "PAGER": "cat",
    "SSH_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "force",
    "TERM": "dumb",
    "VISUAL": "false",
}
"""Whatever wants to ask a person fails at once instead."""

USUAL = """
    PATH HOME USER LOGNAME SHELL HOSTNAME LANG LANGUAGE LC_* TZ TMPDIR TEMP TMP XDG_* COLUMNS LINES NO_COLOR
    HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
    VIRTUAL_ENV CONDA_* MAMBA_* PYTHON* PIP_* PIPX_* UV_* POETRY_* PDM_* PYENV_* TOX_* NOX_* PYTEST_* HYPOTHESIS_*
    NODE_* NPM_* NVM_* YARN_* PNPM_* BUN_* DENO_* COREPACK_* VOLTA_* FNM_*
    CARGO_* RUST* GOPATH GOROOT GOBIN GOFLAGS GOPROXY GOPRIVATE GONOSUMDB GONOPROXY GOCACHE GOMODCACHE GOOS GOARCH GOTOOLCHAIN
    CGO_* JAVA_* JDK_* MAVEN_* M2_* GRADLE_* SBT_* KOTLIN_* ANDROID_* DOTNET_* NUGET_* RUBY* GEM_* BUNDLE_* RBENV_* PERL*
    PHP* COMPOSER_* CC CXX CPP LD AR NM RANLIB STRIP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS ARCH MAKEFLAGS CMAKE_* PKG_CONFIG_*
    NINJA_* MESON_* BAZEL* CCACHE_* SCCACHE_* SOURCE_DATE_EPOCH NIX_* GUIX_* HOMEBREW_* MACOSX_* SDKROOT DEVELOPER_DIR
    DOCKER_HOST OMP_* MKL_* CUDA_* NVIDIA_* TORCH_* HF_HOME
    SYSTEMROOT WINDIR COMSPEC PATHEXT APPDATA LOCALAPPDATA PROGRAMFILES* PROGRAMDATA USERPROFILE HOMEDRIVE HOMEPATH OS
    NUMBER_OF_PROCESSORS PROCESSOR_*
"""
PASSED = tuple(USUAL.split())
"""Names, `*` for any ending; of these, one that would hold a secret is left out all the same."""

STEERING = {
    "BASH_ENV", "ENV", "GIT_DIR", "GIT_EXTERNAL_DIFF", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GREP_OPTIONS", "LD_AUDIT",
    "LD_PRELOAD", "LESSCLOSE", "LESSOPEN", "PROMPT_COMMAND", "RIPGREP_CONFIG_PATH", "SHELLOPTS", "BASHOPTS",
    "CDPATH", "GLOBIGNORE", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "MAGIC", "TAR_OPTIONS",
    "POSIXLY_CORRECT", "PWD", "OLDPWD",
}  # fmt: skip
"""What makes another program run, or another place be looked at, behind a command that says nothing of it."""


def quiet_environment(
    base: Mapping[str, str],
    call_id: str,
    hidden: Collection[str] = (),
    distrusted: Sequence[str] = (),
    passed: Collection[str] = (),
) -> dict[str, str]:
    """What a command may know.

    Args:
        hidden: names that it never sees: those of the keys of model providers.
        distrusted: folders whose programs it does not find by name.
        passed: names that the user lets through beside the usual ones; `*` for any ending.
    """
    kept = {name: value for name, value in base.items() if _may_pass(name, hidden, passed)}
    folders = [folder for folder in kept.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    folders = [folder for folder in folders if not below(os.path.realpath(folder), distrusted)]
    return {**kept, "PATH": os.pathsep.join(folders), **QUIET, CALL_MARK: call_id, RUN_MARK: uuid.uuid4().hex}


def _may_pass(name: str, hidden: Collection[str], passed: Collection[str]) -> bool:
    upper = name.upper()
    if name in hidden or upper in STEERING or _never(upper):
        return False
    if any(fnmatchcase(name, pattern) for pattern in passed):
        return True
    return SECRET_NAME.search(name) is None and any(fnmatchcase(upper, pattern) for pattern in PASSED)


def _never(upper: str) -> bool:
    """A key of a model provider, ours, or a function that would replace a program."""
    if upper.startswith(("BASH_FUNC_", "AGENTCLI_")):
        return True
    return upper.startswith("OPENAI_") and SECRET_NAME.search(upper) is not None
