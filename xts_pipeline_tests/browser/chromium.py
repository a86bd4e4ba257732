"""A headless Chromium (Debian's `chromium` and `chromium-driver`) that looks at Dagster's pages."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 120.0  # seconds; the first page of a busy machine takes some
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
)
BACKGROUND = """
let element = arguments[0];
while (element && getComputedStyle(element).backgroundColor === "rgba(0, 0, 0, 0)") element = element.parentElement;
return element && getComputedStyle(element).backgroundColor;
"""
T = TypeVar("T")


@dataclass
class Browser:
    """A window on Dagster's UI."""

    driver: webdriver.Chrome
    url: str
    pictures: Path

    def open(self, path: str, width: int = 1440, height: int = 900) -> None:
        """Go to a page."""
        self.driver.set_window_size(width, height)
        self.driver.get(f"{self.url}{path}")

    def until(self, what: str, ask: Callable[[], T | None]) -> T:
        """Ask until there is an answer; the page's text is told when there is none."""

        def answer(_: webdriver.Chrome) -> T | None:
            try:
                return ask()
            except StaleElementReferenceException:
                return None

        try:
            return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.5).until(answer)  # type: ignore[return-value]
        except Exception as error:
            self.picture("failed")
            raise AssertionError(f"{what}: not on the page, which reads\n{self.text()}") from error

    def text(self) -> str:
        """What the page reads."""
        return str(self.driver.find_element(By.TAG_NAME, "body").text)

    def reads(self, *texts: str) -> None:
        """Wait until the page reads all of these."""
        self.until(f"{texts}", lambda: all(text in self.text() for text in texts) or None)

    def found(self, selector: str, text: str = "") -> WebElement:
        """Wait for an element with that text."""
        return self.until(
            f"{selector} {text!r}",
            lambda: next(
                (each for each in self.driver.find_elements(By.CSS_SELECTOR, selector) if text in each.text), None
            ),
        )

    def background_of(self, text: str) -> str | None:
        """The colour behind the element that holds a text itself; None while there is none."""
        held = self.driver.find_elements(By.XPATH, f"//*[contains(text(), '{text}')]")
        return str(self.driver.execute_script(BACKGROUND, held[0])) if held else None

    def click(self, selector: str, text: str = "") -> None:
        """Click an element."""
        self.found(selector, text).click()

    def picture(self, name: str) -> None:
        """Keep what the window shows."""
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(self.pictures / f"{name}.png"))


@contextmanager
def browsing(url: str, pictures: Path) -> Iterator[Browser]:
    """A browser for as long as the block lasts, with a profile of its own."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert chromium, "chromium is missing: install Debian's packages chromium and chromium-driver"
    assert driver, "chromedriver is missing: install Debian's packages chromium and chromium-driver"
    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        window = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
        try:
            yield Browser(window, url, pictures)
        finally:
            window.quit()
