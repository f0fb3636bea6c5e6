// Loads pages of the site in frames that are as wide as a telephone or a screen, and tells which of
// them are wider than that.

/** A page that has to be scrolled sideways. */
export interface Wide {
  readonly page: string
  readonly width: number
  /** How wide its content is, in pixels. */
  readonly needs: number
  /** The element that needs that width. */
  readonly element: string
}

/** What to measure: paths of pages, and widths in pixels. */
export interface Sizes {
  readonly pages: readonly string[]
  readonly widths: readonly number[]
}

const FRAMES = 4

void measureAll()

async function measureAll(): Promise<void> {
  const place = document.querySelector('pre')!
  try {
    const { pages, widths } = (await (await fetch('/sizes.json')).json()) as Sizes
    const wide: Wide[] = []
    const left = [...pages]
    const measureNext = async (frame: HTMLIFrameElement) => {
      for (let page = left.pop(); page !== undefined; page = left.pop()) {
        wide.push(...(await measured(frame, page, widths)))
      }
    }
    await Promise.all(Array.from({ length: FRAMES }, () => measureNext(newFrame())))
    place.textContent = encodeURIComponent(JSON.stringify(wide))
    place.dataset.status = 'done'
  } catch (error) {
    place.dataset.status = `threw ${error}`
  }
}

function newFrame(): HTMLIFrameElement {
  const frame = document.createElement('iframe')
  frame.style.cssText = 'height: 800px; border: 0'
  document.body.append(frame)
  return frame
}

async function measured(frame: HTMLIFrameElement, page: string, widths: readonly number[]): Promise<Wide[]> {
  await new Promise<void>((resolve) => {
    frame.addEventListener('load', () => resolve(), { once: true })
    frame.src = page
  })
  const { documentElement: html, body } = frame.contentDocument!
  if (body.childElementCount === 0) throw new Error(`${page} is empty`)
  return widths.flatMap((width) => {
    frame.style.width = `${width}px`
    const needs = html.scrollWidth
    return needs <= width ? [] : [{ page, width, needs, element: widest(body, needs) }]
  })
}

/** The innermost element that reaches that far. */
function widest(body: HTMLElement, needs: number): string {
  const reaches = (each: Element) => each.getBoundingClientRect().right >= needs - 1
  const found = Array.from(body.querySelectorAll('*')).find(
    (each) => reaches(each) && !Array.from(each.children).some(reaches),
  )
  return found === undefined ? 'none' : `${found.tagName}.${found.className}: ${found.textContent?.slice(0, 60)}`
}
