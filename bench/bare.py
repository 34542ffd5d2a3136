"""The smallest Textual application with a prompt: what `paint` compares the prompt with."""

from textual.app import App
from textual.widgets import TextArea


class Bare(App):
    ENABLE_COMMAND_PALETTE = False

    def compose(self):
        yield TextArea()

    def on_mount(self):
        prompt = self.query_one(TextArea)
        prompt.cursor_blink = False
        prompt.focus()


if __name__ == "__main__":
    Bare().run()
