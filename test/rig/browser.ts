import { mkdir, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type Frame, type Locator, type Page } from 'playwright-core';

/** No GPU, no network of its own, no first-run pages. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const launchBrowser = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, headless: true, args: flags });

/** Screenshots of a failed run are kept where the test runner says, else in the temporary folder. */
export const artifacts = async (): Promise<string> => {
  const folder = process.env['TEST_ARTIFACTS'] ?? join(tmpdir(), 'checkpoints-artifacts');
  await mkdir(folder, { recursive: true });
  return folder;
};

const exactly = (text: string): RegExp => new RegExp(`^\\s*${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}\\s*$`);

/** A workbench in a browser page, driven the way a person does: by what is on the screen. */
export class Workbench {
  constructor(readonly page: Page) {}

  static async open(
    browser: Browser,
    url: string,
    size: { width: number; height: number } = { width: 1400, height: 900 },
  ): Promise<Workbench> {
    const context = await browser.newContext({ viewport: size });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(url);
    const workbench = new Workbench(page);
    await workbench.ready();
    return workbench;
  }

  async ready(): Promise<void> {
    await this.page.locator('.monaco-workbench .part.statusbar').waitFor({ timeout: 90_000 });
    await this.page.locator('.monaco-workbench .part.editor').waitFor();
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.ready();
  }

  async screenshot(name: string): Promise<string> {
    const path = join(await artifacts(), `${name}.png`);
    await this.page.screenshot({ path });
    return path;
  }

  // Quick input: palette, picks, input boxes

  get quickInput(): Locator {
    return this.page.locator('.quick-input-widget');
  }

  get quickRows(): Locator {
    return this.quickInput.locator('.quick-input-list .monaco-list-row');
  }

  /** Runs a palette command by its full title. A busy machine loses the key, so it is pressed until the palette is there. */
  async command(title: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.ask(`>${title}`);
        const row = this.quickRows.filter({ has: this.page.locator('.label-name', { hasText: exactly(title) }) });
        await row.first().click({ timeout: 10_000 });
        await this.paletteGone(`>${title}`);
        return;
      } catch (error) {
        if (attempt === 4) throw new Error(`the palette has no command “${title}”`, { cause: error });
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** The next question comes in the same box: whoever answers it must not speak to the palette, which is still closing. */
  private async paletteGone(text: string): Promise<void> {
    const input = this.quickInput.locator('input.input');
    for (const until = Date.now() + 10_000; Date.now() < until; await this.page.waitForTimeout(50)) {
      if (!(await input.isVisible()) || (await input.inputValue()) !== text) return;
    }
  }

  /** Whether the palette offers a command, without running it. */
  async offers(title: string): Promise<boolean> {
    await this.ask(`>${title}`);
    // The list is never empty ("No matching commands"), so a first row means that the filter has run.
    await this.quickRows.first().waitFor();
    const labels = await this.quickRows.locator('.label-name').allInnerTexts();
    await this.page.keyboard.press('Escape');
    return labels.some((label) => label.trim() === title);
  }

  /** Opens the palette and types. It closes when something else takes the focus in between: then it is opened again. */
  private async ask(text: string): Promise<void> {
    const input = this.quickInput.locator('input.input');
    for (let attempt = 1; ; attempt += 1) {
      await this.page.keyboard.press('F1');
      try {
        await input.waitFor({ state: 'visible', timeout: 2000 });
        await this.enter(text);
        return;
      } catch (error) {
        if (attempt === 10) throw error;
      }
    }
  }

  /**
   * The text of the open quick input, at once. Keys, and Playwright's fill, go where the focus is: an editor that
   * takes it in between would get them.
   */
  async enter(text: string): Promise<void> {
    await this.quickInput.locator('input.input').evaluate((input, value) => {
      if (!(input instanceof HTMLInputElement)) throw new Error('the quick input has no input');
      input.value = value;
      input.dispatchEvent(new Event('input', { bubbles: true }));
    }, text);
  }

  /** The dialog for folders that VS Code shows in a browser. What it lists is what it takes, so that is waited for. */
  async chooseFolder(path: string, button: string): Promise<void> {
    const folders = (await readdir(path, { withFileTypes: true })).filter((entry) => entry.isDirectory());
    const expected = ['..', ...folders.map(({ name }) => name)].sort().join('\n');
    const input = this.quickInput.locator('input.input');
    await input.waitFor({ state: 'visible' });
    const listed = async (): Promise<string> =>
      (await this.quickRows.locator('.label-name').allInnerTexts())
        .map((text) => text.trim())
        .sort()
        .join('\n');
    // It fills in a folder of its own first, and may still be reading that one when it is asked.
    for (const until = Date.now() + 60_000; ; await this.page.waitForTimeout(300)) {
      if ((await input.inputValue()) === `${path}/` && (await listed()) === expected) break;
      if (Date.now() > until) throw new Error(`the dialog does not show ${path}, but ${await input.inputValue()}`);
      if (!['', `${path}/`].includes(await input.inputValue())) await this.enter(`${path}/`);
    }
    await this.quickInput.getByRole('button', { name: button }).click();
    await this.quickInput.waitFor({ state: 'hidden' });
  }

  /** Chooses a row of the open quick pick by its label. */
  async pick(label: string | RegExp): Promise<void> {
    const text = typeof label === 'string' ? exactly(label) : label;
    const row = this.quickRows.filter({ has: this.page.locator('.label-name', { hasText: text }) }).first();
    await row.waitFor();
    await row.click();
  }

  /** The OK button of a pick with ticks. */
  async confirmPick(): Promise<void> {
    await this.quickInput.locator('.quick-input-action .monaco-button', { hasText: 'OK' }).click();
  }

  /** Answers the open input box. */
  async answer(text: string): Promise<void> {
    // The palette that asked for it has the same place and may not be gone yet; only an input box says this.
    await this.quickInput.locator('.quick-input-message', { hasText: "Press 'Enter' to confirm" }).waitFor();
    await this.enter(text);
    await this.quickInput.locator('input.input').press('Enter');
  }

  // Side bar and trees

  async openContainer(name: string): Promise<void> {
    const tab = this.page.locator(`.activitybar .action-item[role="tab"]:has([aria-label^="${name}"])`).first();
    const item = (await tab.count()) > 0 ? tab : this.page.locator(`.activitybar [aria-label^="${name}"]`).first();
    await item.waitFor();
    if ((await item.getAttribute('aria-expanded')) !== 'true') await item.click();
  }

  /** The pane of a view by its title. */
  view(title: string): Locator {
    return this.page.locator('.pane').filter({ has: this.page.locator(`.pane-header[aria-label^="${title}"]`) });
  }

  /** Opens a view of the side bar that is folded. */
  async openView(title: string): Promise<void> {
    const header = this.view(title).locator('.pane-header');
    await header.waitFor();
    if ((await header.getAttribute('aria-expanded')) !== 'true') await header.locator('.title').click();
    await this.view(title).locator('.pane-header[aria-expanded="true"]').waitFor();
  }

  /** The rows of a tree view, by what a person reads in them. */
  row(view: string, text: string | RegExp): Locator {
    return this.view(view).locator('.monaco-list-row[role="treeitem"]').filter({ hasText: text }).first();
  }

  async rowTexts(view: string): Promise<string[]> {
    const rows = this.view(view).locator('.monaco-list-row[role="treeitem"]');
    return (await rows.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  }

  /** Opens a row. A refresh draws rows anew under the mouse, so it is clicked until it is open. */
  async expand(view: string, text: string | RegExp): Promise<void> {
    const row = this.row(view, text);
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      await row.waitFor();
      if ((await row.getAttribute('aria-expanded')) === 'true') return;
      await row.locator('.monaco-tl-twistie').click();
      await this.page.waitForTimeout(500);
    }
    throw new Error(`the row ${String(text)} does not open`);
  }

  /**
   * Rests the mouse on a target until its tooltip is there. One that is drawn anew under a mouse that stands still shows none, so the mouse
   * leaves and comes back, as a hand would.
   */
  async tooltip(target: Locator, text: string): Promise<Locator> {
    const shown = this.page
      .locator('.monaco-hover:visible, .workbench-hover:visible')
      .filter({ hasText: text })
      .first();
    for (let attempt = 1; ; attempt += 1) {
      await this.page.mouse.move(0, 0);
      await target.hover();
      try {
        await shown.waitFor({ timeout: 5000 });
        return shown;
      } catch (error) {
        if (attempt === 6) throw new Error(`no tooltip with “${text}” comes up`, { cause: error });
      }
    }
  }

  /** An inline action of a tree row: those show on hover only. */
  async rowAction(view: string, text: string | RegExp, action: string): Promise<void> {
    const row = this.row(view, text);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await row.hover();
      await row.locator(`.action-label[aria-label^="${action}"]`).click();
      if (!(await this.rowWasLost())) return;
    }
    throw new Error(`the row ${String(text)} does not stand still`);
  }

  /** A row that is drawn anew in the moment of the click is not known to its command, which says so. A person clicks again. */
  private async rowWasLost(): Promise<boolean> {
    const answer = this.notification('The list changed in the moment of the click.');
    try {
      await answer.waitFor({ timeout: 1000 });
    } catch (error) {
      if (!/Timeout/.test(String(error))) throw error;
      return false;
    }
    await answer.hover();
    await answer.locator('.codicon-notifications-clear').click();
    await answer.waitFor({ state: 'detached' });
    return true;
  }

  /** Ticks or unticks a row. A click while the rows are drawn anew is lost, so it is repeated until it shows. */
  async tick(view: string, text: string | RegExp, on: boolean): Promise<void> {
    const box = this.row(view, text).locator('.monaco-checkbox');
    for (let attempt = 1; attempt <= 20; attempt += 1) {
      await box.waitFor();
      if ((await box.getAttribute('aria-checked')) === String(on)) return;
      await box.click();
      await this.page.waitForTimeout(500);
    }
    throw new Error(`the row ${String(text)} cannot be ticked`);
  }

  /** An action in the title of a view: those show on hover and focus only. */
  async viewAction(view: string, action: string): Promise<void> {
    await this.view(view).locator('.pane-header').hover();
    await this.view(view).locator(`.pane-header .action-label[aria-label^="${action}"]`).click();
  }

  async contextMenu(target: Locator, action: string): Promise<void> {
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await this.chooseFromMenu(target, action);
      if (!(await this.rowWasLost())) return;
    }
    throw new Error(`the row of “${action}” does not stand still`);
  }

  /** A row that moves under the mouse opens the menu of another one: then it is closed, and opened again. */
  private async chooseFromMenu(target: Locator, action: string): Promise<void> {
    const item = this.page
      .locator('.monaco-menu .action-item')
      .filter({ hasText: exactly(action) })
      .first();
    for (let attempt = 1; ; attempt += 1) {
      await target.click({ button: 'right' });
      try {
        await item.waitFor({ timeout: 5000 });
        break;
      } catch (error) {
        if (attempt === 5) throw new Error(`the menu has no “${action}”`, { cause: error });
        await this.page.keyboard.press('Escape');
      }
    }
    // VS Code drops a click in the first tenth of a second of a menu, so that the click that opened it chooses nothing.
    for (let attempt = 1; ; attempt += 1) {
      await item.click();
      try {
        await item.waitFor({ state: 'detached', timeout: 2000 });
        return;
      } catch (error) {
        if (attempt === 4) throw new Error(`the menu stays open after a click on “${action}”`, { cause: error });
      }
    }
  }

  // Dialogs and messages

  get modal(): Locator {
    return this.page.locator('.monaco-dialog-box');
  }

  async modalText(): Promise<string> {
    await this.modal.waitFor();
    return (await this.modal.innerText()).trim();
  }

  /** Clicks a button and waits until this dialog is gone; the next one may already stand in its place. */
  async modalClick(button: string): Promise<void> {
    await this.modal.waitFor();
    const dialog = await this.modal.elementHandle();
    await this.modal.locator('.dialog-buttons .monaco-button', { hasText: exactly(button) }).click();
    await this.page.waitForFunction((element) => element?.isConnected !== true, dialog);
  }

  notification(text: string | RegExp): Locator {
    return this.page.locator('.notifications-toasts .notification-toast').filter({ hasText: text }).first();
  }

  /** On the message as it comes up, or in the list of messages when it has gone there meanwhile. */
  async notificationClick(text: string | RegExp, button: string): Promise<void> {
    const toast = this.notification(text);
    const listed = this.page.locator('.notifications-center .notification-list-item').filter({ hasText: text }).first();
    const bell = this.page.locator('[id="status.notifications"]');
    await toast.or(bell.locator('.codicon-bell-dot')).first().waitFor();
    if (!(await toast.isVisible())) await this.command('Notifications: Show Notifications');
    const message = toast.or(listed).first();
    await message.waitFor();
    await message.hover();
    await message
      .locator('.notification-list-item-buttons-container .monaco-button', { hasText: exactly(button) })
      .click();
  }

  async dismissNotifications(): Promise<void> {
    await this.command('Notifications: Clear All Notifications');
  }

  // Editors

  /** By the quick open that everybody uses. */
  async openFile(path: string): Promise<void> {
    await this.ask(path);
    await this.quickRows
      .filter({ hasText: path.split('/').pop() ?? path })
      .first()
      .click();
    await this.page
      .locator('.tabs-container .tab.active')
      .filter({ hasText: path.split('/').pop() ?? path })
      .waitFor();
  }

  /** With several sources of changes the inline change view has a list of them. */
  async choosePeekProvider(label: RegExp): Promise<void> {
    const list = this.page.locator('.peekview-widget select');
    if ((await list.count()) === 0 || !(await list.isVisible())) return;
    const options = await list.locator('option').allInnerTexts();
    const wanted = options.find((option) => label.test(option));
    if (wanted === undefined) throw new Error(`no source ${label} among ${options.join(', ')}`);
    await list.selectOption({ label: wanted });
  }

  /** As a person does it: VS Code on a server does not notice settings that are written behind its back. */
  async setTheme(label: string): Promise<void> {
    await this.command('Preferences: Color Theme');
    await this.quickInput.getByPlaceholder(/Color Theme/).waitFor();
    await this.enter(label);
    await this.pick(label);
    await this.quickInput.waitFor({ state: 'hidden' });
  }

  tab(title: string | RegExp): Locator {
    return this.page.locator('.tabs-container .tab').filter({ hasText: title }).first();
  }

  get diff(): Locator {
    return this.page.locator('.monaco-diff-editor').first();
  }

  /** What a side of the open diff shows; editors draw spaces as no-break spaces. */
  async diffText(side: 'original' | 'modified'): Promise<string> {
    const lines = this.diff.locator(`.editor.${side} .view-lines`);
    await lines.waitFor();
    return (await lines.innerText()).replace(/\u00a0/g, ' ');
  }

  /** Needs the terminal's DOM renderer, which the rig's settings ask for. */
  async terminalText(): Promise<string> {
    const rows = this.page.locator('.terminal-wrapper.active .xterm-rows');
    await rows.waitFor();
    return (await rows.innerText()).replace(/\u00a0/g, ' ');
  }

  statusItem(text: string | RegExp): Locator {
    return this.page.locator('.statusbar-item').filter({ hasText: text }).first();
  }

  /** With several webviews their frames are told apart only by what they contain. */
  async webview(selector: string): Promise<Frame> {
    for (const until = Date.now() + 30_000; Date.now() < until; await this.page.waitForTimeout(200)) {
      for (const frame of this.page.frames()) {
        try {
          if ((await frame.locator(selector).count()) > 0) return frame;
        } catch (error) {
          // A frame that was replaced while it was asked; the next round sees its successor.
          if (!/detached|destroyed|closed/i.test(String(error))) throw error;
        }
      }
    }
    throw new Error(`no webview contains ${selector}`);
  }
}
