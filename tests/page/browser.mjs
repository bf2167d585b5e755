// Tries the pages of a folder in a real browser; tests/page/try runs it. The first thing that is wrong ends it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , folder, out] = process.argv;
const require = createRequire(join(process.env.MODULES, 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

// Without a sandbox only where there can be none: as root.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, chromiumSandbox: process.getuid() !== 0 });
const url = (name) => pathToFileURL(join(folder, name)).href;

// Opens a page that may fetch nothing, log nothing and ask nothing.
async function open(name, { width = 1400, height = 900, scheme = 'light', script = true, anchor = '' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, javaScriptEnabled: script });
  const page = await context.newPage();
  const wrong = [];
  page.on('request', (it) => { if (it.url().split('#')[0] !== url(name)) wrong.push(`fetches ${it.url()}`); });
  page.on('console', (it) => wrong.push(`logs ${it.text()}`));
  page.on('pageerror', (it) => wrong.push(`throws ${it.message}`));
  page.on('dialog', (it) => { wrong.push(`asks ${it.message()}`); it.dismiss(); });
  // Of a busy machine, the time of the page's own thread says more than that of the clock.
  const session = await context.newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find((it) => it.name === 'TaskDuration').value * 1000;
  };
  await page.goto(url(name) + anchor);
  return { page, busy, close: async () => { assert.deepEqual(wrong, [], name); await context.close(); } };
}

// Waits until the page is so. What playwright has for this needs eval, which the page forbids.
async function until(page, reached) {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await page.evaluate(reached)) return;
    await page.waitForTimeout(50);
  }
  assert.fail(`never: ${reached}; ${await page.locator('.count').innerText()}`);
}

const tests = {
  async 'axe finds nothing, and nothing is wider than the screen'() {
    for (const name of ['example.html', 'hostile.html', 'none.html', 'clusters.html', 'trend.html']) {
      for (const scheme of ['light', 'dark']) {
        for (const width of [1400, 800, 390]) {
          const { page, close } = await open(name, { width, scheme });
          if (name === 'example.html' || name === 'hostile.html') await page.locator('#rows summary').first().click();
          for (const it of await page.locator('details.counting > summary').all()) await it.click();
          await page.screenshot({ path: join(out, `${name.replace('.html', '')}-${width}-${scheme}.png`), fullPage: true });
          await page.evaluate(axe);
          const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
          assert.deepEqual(violations.map((it) => [it.id, it.nodes.map((node) => node.html)]), [], `${name} ${width} ${scheme}`);
          assert.ok(passes.length > 15, `axe made only ${passes.length} checks`);
          const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(wider <= 0, `${name} is ${wider} px wider than ${width}`);
          await close();
        }
      }
    }
  },

  async 'what is planted in names does nothing'() {
    for (const script of [true, false]) {
      const { page, close } = await open('hostile.html', { script });
      const row = page.locator('#rows details').first();
      await row.locator('summary').click();
      const shown = await page.locator('body').innerText();
      for (const text of ['<script>', '<img', 'javascript:', '\\u{202e}', '</script>']) assert.ok(shown.includes(text), text);
      assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(shown));
      await close();
      if (!script) continue;
      const again = await open('hostile.html');
      const seen = await again.page.evaluate(() => ({
        planted: 'planted' in window,
        elements: document.querySelectorAll('img, iframe, object, embed, form, link, base').length,
        scripts: document.scripts.length,
        handlers: [...document.querySelectorAll('*')].flatMap((it) => [...it.attributes]).filter((it) => it.name.startsWith('on')).length,
        links: [...document.querySelectorAll('a')].filter((it) => !it.getAttribute('href').startsWith('#')).length,
      }));
      assert.deepEqual(seen, { planted: false, elements: 0, scripts: 2, handlers: 0, links: 0 });
      // The policy holds even if something got in.
      await again.page.evaluate(() => {
        const made = document.createElement('script');
        made.textContent = 'window.planted = true';
        document.body.append(made);
      });
      assert.equal(await again.page.evaluate(() => 'planted' in window), false);
      await assert.rejects(again.close(), /Content Security Policy/);
    }
  },

  async 'the keyboard is enough'() {
    const { page, close } = await open('1000.html', { width: 390, height: 800 });
    const focused = () => page.evaluate(() => {
      const it = document.activeElement;
      return it.getAttribute('aria-label') ?? it.textContent;
    });
    const tab = async (reached) => {
      for (let presses = 0; presses < 80; presses += 1) {
        await page.keyboard.press('Tab');
        if (reached(await focused())) return;
      }
      assert.fail(`Tab does not reach ${reached}`);
    };
    await tab((it) => it === 'team-39');
    await page.keyboard.press('Enter');
    assert.equal(await page.locator('select[name=namespace]').inputValue(), 'team-39');
    const count = async () => (await page.locator('.count').innerText());
    await until(page, () => /^\d+ of 1000 shown/.test(document.querySelector('.count').textContent));
    await tab((it) => it === 'Show all');
    await page.keyboard.press('Enter');
    await until(page, () => document.querySelector('.count').textContent === '1000 shown');
    await page.locator('input[type=search]').focus();
    await page.keyboard.type('volume-00042');
    await until(page, () => document.querySelector('.count').textContent === '1 of 1000 shown');
    assert.equal(await count(), '1 of 1000 shown');
    await tab((it) => it.includes('pv/volume-00042'));
    await page.keyboard.press('Enter');
    await page.locator('.opened').waitFor();
    await close();
    const example = await open('example.html');
    await example.page.locator('input[type=search]').focus();
    await example.page.keyboard.type('pv/events leak');
    await until(example.page, () => document.querySelectorAll('#rows li').length === 1);
    for (const reached of ['#rows summary', '#rows .copy']) {
      await example.page.locator(reached).waitFor();
      let presses = 0;
      do {
        await example.page.keyboard.press('Tab');
        presses += 1;
      } while (presses < 40 && !(await example.page.evaluate((it) => document.activeElement.matches(it), reached)));
      await example.page.keyboard.press('Enter');
    }
    await until(example.page, () => ['Copied', 'Selected'].includes(document.querySelector('.copy').textContent));
    await example.close();
  },

  async 'filters and orders select what they say'() {
    const { page, close } = await open('1000.html');
    const first = () => page.locator('#rows .object').first().innerText();
    const settled = () => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
    await page.locator('select[name=order]').selectOption('largest');
    await settled();
    const sizes = (await page.locator('#rows .size').allInnerTexts()).slice(0, 20).map((it) => parseInt(it, 10));
    assert.deepEqual(sizes, [...sizes].sort((a, b) => b - a));
    await page.locator('select[name=order]').selectOption('object');
    await settled();
    assert.match(await first(), /^pv\/volume-00000 claim team-0\//);
    await page.locator('select[name=class]').selectOption('class-2');
    await settled();
    assert.match(await first(), /^pv\/volume-\d*[27] claim /);
    await page.locator('fieldset input').first().uncheck();
    await settled();
    assert.equal(await page.locator('.count').innerText(), '0 of 1000 shown');
    await close();
  },

  async 'the name of a cluster filters the list'() {
    const { page, close } = await open('clusters.html', { anchor: '#pv-released-past-threshold/us/pv/volume-00033' });
    const row = page.locator('details[open]', { hasText: 'volume-00033' });
    await row.waitFor();
    assert.match(await row.innerText(), /cluster us/);
    await page.locator('th[data-by=cluster] button', { hasText: 'eu' }).first().click();
    await until(page, () => document.querySelector('.count').textContent.includes(' of '));
    assert.equal(await page.locator('select[name=cluster]').inputValue(), 'eu');
    for (const text of await page.locator('#rows .object').allInnerTexts()) assert.match(text, /cluster eu$/);
    await close();
    const alone = await open('10.html');
    assert.equal(await alone.page.locator('select[name=cluster]').count(), 0);
    await alone.close();
  },

  async 'a link leads to one finding'() {
    const { page, close } = await open('1000.html', { anchor: '#pv-released-past-threshold/pv/volume-00777' });
    const row = page.locator('details[open]', { hasText: 'volume-00777' });
    await row.waitFor();
    assert.ok(await row.evaluate((it) => it.getBoundingClientRect().top < innerHeight));
    assert.ok((await row.innerText()).includes('disk.example.com handle-00777'));
    await close();
  },

  async 'the worst can be read without a script'() {
    const { page, close } = await open('1000.html', { script: false });
    assert.equal(await page.locator('#rows li').count(), 100);
    await page.locator('#rows summary').first().click();
    assert.match(await page.locator('#rows li').first().innerText(), /disk.example.com handle-/);
    assert.match(await page.locator('#list').innerText(), /The first 100 of 1000/);
    await close();
  },

  async 'it can be printed'() {
    const { page, close } = await open('1000.html');
    const pdf = await page.pdf({ format: 'A4', path: join(out, 'printed.pdf') });
    const pages = (pdf.toString('latin1').match(/\/Type ?\/Page\b/g) ?? []).length;
    assert.ok(pages > 5 && pages < 60, `${pages} pages`);
    await page.emulateMedia({ media: 'print' });
    assert.equal(await page.locator('.filters').isVisible(), false);
    assert.ok(await page.locator('th[data-by] button').first().isVisible(), 'whose it is');
    await close();
  },

  // Bounds are those of the page's own thread, for the machine may be busy; all figures are printed.
  async 'ten thousand findings stay fluid'() {
    for (const name of ['10.html', '1000.html', '10000.html']) {
      const { page, busy, close } = await open(name);
      const paint = await page.evaluate(() => new Promise((done) => {
        new PerformanceObserver((list) => done(list.getEntriesByName('first-contentful-paint')[0].startTime)).observe({ type: 'paint', buffered: true });
      }));
      const usable = await page.evaluate(() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd);
      const loading = await busy();
      const filter = async (text) => page.evaluate((text) => new Promise((done) => {
        const search = document.querySelector('input[type=search]');
        const start = performance.now();
        search.value = text;
        search.dispatchEvent(new Event('input'));
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
      }), text);
      const [first, second] = [await filter('volume-0000'), await filter('volume-00003')];
      const filtering = await busy() - loading;
      await filter('');
      const before = await busy();
      const frames = await page.evaluate(() => new Promise((done) => {
        const [frames, steps] = [[], 120];
        let last = performance.now();
        const step = (now) => {
          frames.push(now - last);
          last = now;
          if (frames.length > steps) return done(frames.slice(1));
          scrollTo(0, (document.documentElement.scrollHeight * frames.length) / steps);
          return requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }));
      const scrolling = await busy() - before;
      frames.sort((a, b) => a - b);
      const nodes = await page.evaluate(() => document.querySelectorAll('*').length);
      const figures = { paint, usable, filterFirst: first, filterNext: second, frameMedian: frames[60], frame95: frames[113], frameWorst: frames.at(-1),
        busyLoading: loading, busyFilteringTwice: filtering, busyScrolling: scrolling };
      const rounded = Object.entries(figures).map(([key, value]) => `${key} ${Math.round(value)} ms`);
      console.log(`${name}: ${readFileSync(join(folder, name)).length} bytes, ${nodes} elements, ${rounded.join(', ')}`);
      assert.ok(loading < 3000 && filtering < 1500 && scrolling / 120 < 50, rounded.join());
      assert.ok(nodes < 30_000, `${nodes} elements`);
      await close();
    }
  },
};

for (const [name, test] of Object.entries(tests)) {
  await test();
  console.log(`held: ${name}`);
}
await browser.close();
