"""Asks the configured endpoint for its models, the way that a model call goes: same key, proxy and certificates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from agentcli.config.presets import PRESETS
from agentcli.model.address import on_loopback, shown_address
from agentcli.model.openai_wire.failure import of_answer, told
from agentcli.model.spec import ModelSpec
from agentcli.runtime.local import Listed, models_in
from agentcli.view.summary import plural

PATIENCE = 10.0
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
OTHERS = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables of other programs; a company that sets only these means us too."""


@dataclass(slots=True, frozen=True)
class Answer:
    """What came of asking."""

    ok: bool
    detail: str
    hint: str = ""
    models: tuple[Listed, ...] = ()


def ask(spec: ModelSpec, env: Mapping[str, str] | None = None) -> Answer:
    """Ask an endpoint for its models; sends the key to nobody else."""
    env = os.environ if env is None else env
    base = (spec.base_url or env.get("OPENAI_BASE_URL") or PRESETS["openai"].base_url).rstrip("/")
    key = spec.api_key or (env.get("OPENAI_API_KEY") if spec.base_url is None else None)
    shown = shown_address(base)
    import httpx2

    headers = {**({"Authorization": f"Bearer {key.strip()}"} if key else {}), **spec.headers}
    try:
        with httpx2.Client(timeout=PATIENCE) as client:
            response = client.get(f"{base}/models", headers=headers)
    except (httpx2.HTTPError, httpx2.InvalidURL, ImportError, ValueError, OSError) as error:
        told_by = told(str(error), key) or type(error).__name__
        return Answer(False, f"{shown} cannot be reached ({told_by})", _hint(error, base, env))
    return _read(spec, shown, response.status_code, response.content, response.headers, key)


def _read(spec: ModelSpec, shown: str, status: int, body: bytes, headers: Mapping[str, str], key: str | None) -> Answer:
    if status == 200 and (models := models_in(body)) is not None:
        names = {model.name.removeprefix("models/") for model in models}
        if spec.wire_name in names or not names:
            return Answer(True, f"{shown} answers and lists {plural(len(models), 'model')}", "", tuple(models))
        hint = f"{spec.wire_name} is not among them; the name has to be as the endpoint knows it"
        return Answer(False, f"{shown} answers and lists {plural(len(models), 'model')}", hint, tuple(models))
    if status == 200:
        hint = "the address is likely to be wrong; most end in /v1"
        return Answer(False, f"{shown} answers, but with no list of models", hint)
    if status in (404, 405):
        hint = "some endpoints list no models and work; where this one does not, the address is wrong (most end in /v1)"
        return Answer(True, f"{shown} answers, and lists no models (HTTP {status})", hint)
    fault = of_answer(status, body.decode("utf-8", "replace"), headers, key)
    hint = f"the key comes from {spec.key_from}" if status in (401, 403) and spec.key_from else ""
    if status in (401, 403) and not key:
        hint = "no key was sent"
    return Answer(False, f"{shown}: {fault.message}", hint)


def _hint(error: Exception, base: str, env: Mapping[str, str]) -> str:
    import httpx2

    if "certificate" in str(error).lower():
        return "SSL_CERT_FILE names the file with your company's certificate authority"
    through = isinstance(error, httpx2.ProxyError) or any(name != "NO_PROXY" for name in proxies_in(env))
    if on_loopback(base):
        return "it goes through your proxy: set NO_PROXY=localhost,127.0.0.1" if through else "is the server started?"
    if through:
        return "it goes through your proxy: check the address, HTTPS_PROXY and NO_PROXY"
    return "check the address, and whether a proxy is needed (HTTPS_PROXY)"


def proxies_in(env: Mapping[str, str]) -> dict[str, str]:
    """The proxies of the environment, without passwords; of two spellings the small one counts, as everywhere."""
    found = {name: env.get(name.lower()) or env.get(name) for name in (*PROXIES, "NO_PROXY")}
    return {name: value if name == "NO_PROXY" else shown_address(value) for name, value in found.items() if value}


def certificates_in(env: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The variables for certificates that are read, and what is wrong with them."""
    found = {name: env[name] for name in CERTIFICATES if env.get(name)}
    for name, path in found.items():
        if not os.path.exists(path):
            return found, f"{name}: there is no {path}"
    other = next((name for name in OTHERS if env.get(name)), None)
    if other and not found:
        return found, f"{other} is not read here: set SSL_CERT_FILE={env[other]}"
    return found, ""
