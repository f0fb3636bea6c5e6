/** A step of a case, and how often it is done one after the other. */
export interface RepeatedStep {
  readonly text: string
  readonly times: number
}

const NUMBERS = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
]
const ADVERBS: Readonly<Record<string, number>> = { once: 1, twice: 2, thrice: 3 }

const TIMES = `(?:(?<word>once|twice|thrice)|(?<count>\\d+|${NUMBERS.join('|')}) times)`
/** A number of times behind a step, or before it. */
const BEHIND = [
  new RegExp(`^(?<step>.*?)(?:,? |^)\\(?${TIMES}\\)?$`, 'i'),
  new RegExp(`^(?<step>.*?)(?:,? |^)(?:${TIMES}|(?<many>\\d+|${NUMBERS.join('|')})) more(?: times)?$`, 'i'),
  /^(?<step>.*?)(?:\s*[*×]\s*| \(?x ?)(?<count>\d+)\)?$/i,
]
const BEFORE = [new RegExp(`^${TIMES},? (?<step>.+)$`, 'i'), /^(?<count>\d+) ?[x×*] (?<step>.+)$/i]

/** What only joins a step to the one before it. */
const JOINT = /^(?:(?:and|then|now|finally),? )+/i
/** Words for the step before. */
const SAME =
  /^(?:and )?(?:(?:do )?(?:the )?same(?: (?:step|thing|one|call))?|it|that|repeat(?:ed)?(?: (?:it|that|the (?:last )?step))?)?$/i

/**
 * Reads steps that are repeated in words: `next x3`, `twice next`, `again`, `the same three times`.
 * A text that is known is never taken apart. A text that stays unknown is returned as it is.
 */
export function readRepeats(texts: readonly string[], isKnown: (text: string) => boolean): RepeatedStep[] {
  const steps: RepeatedStep[] = []
  for (const text of texts) steps.push(readRepeat(text, steps.at(-1), isKnown))
  return steps
}

function readRepeat(whole: string, before: RepeatedStep | undefined, isKnown: (text: string) => boolean): RepeatedStep {
  let text = whole.trim()
  let times = 1
  let isRepeated = false
  for (;;) {
    if (isKnown(text)) return { text, times }
    const joined = text.replace(JOINT, '')
    const again = /^(?<step>.*?)(?:,? |^)(?<again>again(?: and again)*)$/i.exec(joined)?.groups
    const counted = [...BEHIND, ...BEFORE].map((pattern) => pattern.exec(joined)?.groups).find((found) => found)
    if (again !== undefined) {
      times *= String(again.again).split(' and ').length
      text = String(again.step)
    } else if (counted !== undefined) {
      times *= countOf(counted)
      text = String(counted.step)
    } else if (joined !== text) text = joined
    else break
    isRepeated = true
  }
  const isSame = SAME.test(text) && (isRepeated || text !== '')
  return isSame && before !== undefined ? { text: before.text, times: before.times * times } : { text: whole, times: 1 }
}

function countOf({ word, count, many }: Readonly<Record<string, string | undefined>>): number {
  if (word !== undefined) return ADVERBS[word.toLowerCase()] ?? 1
  const number = (count ?? many ?? '1').toLowerCase()
  return NUMBERS.includes(number) ? NUMBERS.indexOf(number) : Number(number)
}
