"""The endpoints that many people use, by name: an address, the variables that may hold a key, an API. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(slots=True, frozen=True)
class Preset:
    """A well-known endpoint; one without variables is a server on this machine that wants no key."""

    title: str
    base_url: str
    variables: tuple[str, ...] = ()
    """Of several the first that is set."""
    api: Literal["chat", "responses"] | None = None

    @property
    def local(self) -> bool:
        """It runs on this machine."""
        return not self.variables


PRESETS = {
    "openai": Preset("OpenAI", "https://api.openai.com/v1", ("OPENAI_API_KEY",), "responses"),
    "openrouter": Preset("OpenRouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "anthropic": Preset("Anthropic", "https://api.anthropic.com/v1", ("ANTHROPIC_API_KEY",)),
    "gemini": Preset(
        "Google Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    ),
    "deepseek": Preset("DeepSeek", "https://api.deepseek.com/v1", ("DEEPSEEK_API_KEY",)),
    "mistral": Preset("Mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",)),
    "groq": Preset("Groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "xai": Preset("xAI", "https://api.x.ai/v1", ("XAI_API_KEY",)),
    "together": Preset("Together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "fireworks": Preset("Fireworks", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",)),
    "cerebras": Preset("Cerebras", "https://api.cerebras.ai/v1", ("CEREBRAS_API_KEY",)),
    "deepinfra": Preset("DeepInfra", "https://api.deepinfra.com/v1/openai", ("DEEPINFRA_API_KEY",)),
    "sambanova": Preset("SambaNova", "https://api.sambanova.ai/v1", ("SAMBANOVA_API_KEY",)),
    "nvidia": Preset("NVIDIA", "https://integrate.api.nvidia.com/v1", ("NVIDIA_API_KEY",)),
    "moonshot": Preset("Moonshot", "https://api.moonshot.ai/v1", ("MOONSHOT_API_KEY",)),
    "zai": Preset("Z.ai", "https://api.z.ai/api/paas/v4", ("ZAI_API_KEY",)),
    "dashscope": Preset("DashScope", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", ("DASHSCOPE_API_KEY",)),
    "ollama": Preset("Ollama", "http://127.0.0.1:11434/v1"),
    "lmstudio": Preset("LM Studio", "http://127.0.0.1:1234/v1"),
    "llamacpp": Preset("llama.cpp", "http://127.0.0.1:8080/v1"),
    "vllm": Preset("vLLM", "http://127.0.0.1:8000/v1"),
    "sglang": Preset("SGLang", "http://127.0.0.1:30000/v1"),
    "jan": Preset("Jan", "http://127.0.0.1:1337/v1"),
    "koboldcpp": Preset("KoboldCpp", "http://127.0.0.1:5001/v1"),
    "textgen": Preset("text-generation-webui", "http://127.0.0.1:5000/v1"),
    "gpt4all": Preset("GPT4All", "http://127.0.0.1:4891/v1"),
    "docker": Preset("Docker Model Runner", "http://127.0.0.1:12434/engines/v1"),
}
