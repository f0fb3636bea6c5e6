/** What happens to one of the objects of a case. */
export interface ClaimStep {
  /** As the case has it. */
  readonly text: string
  /** `undefined`: whatever has the annotation in question. */
  readonly on: 'claim' | 'pool' | 'cluster' | 'address' | undefined
  /** `undefined`: the only one. */
  readonly name?: string | undefined
  readonly does: Verb
}

export type Verb = 'delete' | 'create' | 'pause' | 'unpause' | 'pauseByAnnotation' | 'unpauseByAnnotation' | 'touch'

const OBJECT = /\b(?<on>claim|pool|cluster|address)\b(?:\s+(?<name>[a-z0-9][-a-z0-9.]*))?/

/**
 * What a sentence says of an object, the first that fits. Whatever is unrelated to pausing only
 * touches it.
 */
const VERBS: readonly (readonly [RegExp, Verb])[] = [
  [/\b(unrelated|another|other|some)\b/, 'touch'],
  [
    /\b(remove|delete|drop|clear|unset)d?\b.*\bannotation\b|\bannotation\b.*\b(removed|deleted|dropped|cleared)\b/,
    'unpauseByAnnotation',
  ],
  [/\bannotat(e|ed|ion)\b/, 'pauseByAnnotation'],
  [/\b(remove|delete|drop|clear|unset)\b.*\bspec\.paused\b/, 'unpause'],
  [/\bpaused\b.*\b(false|null|nil|removed|unset|undefined)\b/, 'unpause'],
  [/\bpaused\b.*\btrue\b/, 'pause'],
  [/\b(create|make|add)d?\b|\bmade\b/, 'create'],
  [/\b(delete|remove)d?\b/, 'delete'],
  [/\bunpaused?\b/, 'unpause'],
  [/\bpaused?\b/, 'pause'],
]

/**
 * A sentence as a step; `undefined` if it says nothing that is known here. A sentence about
 * `spec.paused` alone is about the Cluster, which is what has that field.
 */
export function readClaimStep(text: string): ClaimStep | undefined {
  const found = OBJECT.exec(text)?.groups
  const on = found?.on ?? (/\bspec\.paused\b/.test(text) ? 'cluster' : undefined)
  const does = VERBS.find(([pattern]) => pattern.test(text))?.[1]
  const isOfAnnotation = does === 'pauseByAnnotation' || does === 'unpauseByAnnotation'
  if (does === undefined || (on === undefined && !isOfAnnotation)) return undefined
  const isWord =
    found?.name !== undefined &&
    /^(annotation|label|object|spec|with|that|is|are|and|in|again|of|to|created|deleted|removed|paused|unpaused)$/.test(
      found.name,
    )
  return { text, on: on as ClaimStep['on'], name: isWord ? undefined : found?.name, does }
}

/**
 * Whether a key like `afterPoolDelete` asks for what there is after this step: it has all of its
 * words.
 */
export function isAfter(key: string, step: ClaimStep): boolean {
  const words = key
    .replace(/^after/, '')
    .split(/(?=[A-Z])/)
    .map((word) => word.toLowerCase())
  const said = `${step.does} ${step.on} ${step.text}`.toLowerCase().split(/[^a-z.]+/)
  return words.length > 0 && words.every((word) => said.includes(word))
}
