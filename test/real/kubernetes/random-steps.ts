import type { KindInfo, KubeObject, OwnerReference } from '../../../src/crd/meta/object.js'
import type { JsonPatch } from '../../../src/crd/meta/patch.js'
import type { Result } from '../../../src/errors/index.js'
import type {
  LabelRequirement,
  ListQuery,
  ObjectList,
  Store,
  StoreErrorCode,
  WriteOptions,
} from '../../../src/store/store.js'
import { conformanceKinds, type Dice } from '../../../src/testing/index.js'
import { randomFields, randomValue } from './random-fields.js'

/** One object as both stores gave it at the same step. */
export interface Seen {
  readonly ours: KubeObject
  readonly theirs: KubeObject
}

export type Side = 'ours' | 'theirs'

/** An operation, in the words of each store. */
export interface Step {
  readonly shown: string
  /** Whether the answer may be an object that is gone: of its version nothing is said. */
  readonly isGone?: boolean
  readonly run: (store: Store, side: Side) => Promise<Result<KubeObject | ObjectList, StoreErrorCode>>
}

/** Where a run is at work, and what it has seen there. */
export interface Scene {
  readonly namespaces: readonly [string, string]
  readonly owner: OwnerReference
  readonly seen: readonly Seen[]
}

/** All versions of a kind are one. */
const OTHER_VERSION = 'v1beta1'

export function nextStep(dice: Dice, scene: Scene): Step {
  const { namespaces, seen } = scene
  const kind = dice.pick(conformanceKinds)
  const place = dice.chance(0.97) === kind.namespaced ? { namespace: dice.pick(namespaces) } : {}
  const name = dice.chance(0.97)
    ? `${dice.pick(['a', 'b'])}-${kind.namespaced ? 'n' : namespaces[0]}`
    : dice.pick(kind.namespaced ? [...ODD_NAMES, 'status'] : ODD_NAMES)
  const ref = { apiVersion: apiVersionOf(dice, kind), kind: kind.kind, ...place, name }
  const pair = seen.length > 0 && dice.chance(0.85) ? dice.pick(seen.slice(-12)) : undefined
  const conditions = conditionsOf(dice, pair)
  const hasStatus = kindOf(pair?.ours ?? ref).statusSubresource
  const options: WriteOptions = hasStatus && dice.chance(0.2) ? { subresource: 'status' } : {}
  const known = pair === undefined ? ref : { ...refOf(pair.ours), apiVersion: apiVersionOf(dice, kindOf(pair.ours)) }
  // in which version something was written the server notes as well, also if that changes nothing
  // else
  const written = { ...ref, apiVersion: kind.apiVersion }
  const patched = { ...known, apiVersion: kind.apiVersion }
  switch (
    dice.pick(['create', 'create', 'update', 'update', 'merge', 'merge', 'json', 'json', 'delete', 'list', 'get'])
  ) {
    case 'create':
      return creation(dice, scene, written)
    case 'update':
      return pair === undefined ? reading(ref) : update(dice, scene, pair, options)
    case 'merge': {
      const patch = randomMerge(dice, scene, pair, {
        ...options,
        isConditional: Object.keys(conditions('ours')).length > 0,
      })
      const shown = `merge ${JSON.stringify([patched, patch('ours'), options, conditions('ours')])}`
      return { shown, run: (store, side) => store.patch(patched, patch(side), { ...options, ...conditions(side) }) }
    }
    case 'json': {
      const patch = Array.from({ length: dice.below(4) }, () => randomOperation(dice, options))
      const shown = `JSON ${JSON.stringify([patched, patch, options, conditions('ours')])}`
      return { shown, run: (store, side) => store.patch(patched, patch, { ...options, ...conditions(side) }) }
    }
    case 'delete': {
      const propagation = dice.chance(0.3) ? ({ propagation: 'Background' } as const) : {}
      const shown = `delete ${JSON.stringify([known, propagation, conditions('ours')])}`
      return { shown, isGone: true, run: (store, side) => store.delete(known, { ...propagation, ...conditions(side) }) }
    }
    case 'list': {
      const query = randomQuery(dice, kind, scene)
      return { shown: `list ${JSON.stringify(query)}`, run: (store) => store.list(query) }
    }
  }
  return reading(known)
}

function reading(ref: Parameters<Store['get']>[0]): Step {
  return { shown: `get ${JSON.stringify(ref)}`, run: (store) => store.get(ref) }
}

function creation(dice: Dice, { owner }: Scene, ref: Parameters<Store['get']>[0]): Step {
  const { apiVersion, kind, ...place } = ref
  const server = dice.chance(0.1) ? dice.pick(OF_THE_SERVER) : {}
  const metadata = { ...place, ...randomMetadata(dice, owner), ...server }
  const object = { apiVersion, kind, ...randomParts(dice), metadata } as unknown as KubeObject
  return { shown: `create ${JSON.stringify(object)}`, run: (store) => store.create(object) }
}

function update(dice: Dice, { owner }: Scene, pair: Seen, options: WriteOptions): Step {
  const parts = randomParts(dice)
  const changes = dice.chance(0.6) ? randomMetadata(dice, owner) : {}
  const withoutUid = dice.chance(0.2)
  const server = dice.chance(0.1) ? dice.pick(OF_THE_SERVER) : {}
  const made = (object: KubeObject) => ({
    ...object,
    ...parts,
    apiVersion: kindOf(object).apiVersion,
    metadata: { ...object.metadata, ...changes, ...(withoutUid ? { uid: undefined } : {}), ...server },
  })
  const shown = `update ${JSON.stringify([made(pair.ours), options])}`
  return { shown, run: (store, side) => store.update(made(pair[side]) as KubeObject, options) }
}

/**
 * What is written into metadata and is not the caller's to say. Of another deletionTimestamp the
 * server notes who wrote it, and drops it.
 */
const OF_THE_SERVER: readonly object[] = [
  { uid: 'other' },
  { uid: '' },
  { uid: null },
  { resourceVersion: '0' },
  { resourceVersion: '' },
  { resourceVersion: null },
  { resourceVersion: '999999999999' },
  { generation: null },
  { generation: 0 },
  { creationTimestamp: null },
  { deletionTimestamp: null },
  { deletionGracePeriodSeconds: null },
  { deletionGracePeriodSeconds: 0 },
  { generateName: 'x-' },
  { generateName: null },
]

const ODD_NAMES = ['A', '..', 'a/b', 'a b', 'ä', `${'a'.repeat(254)}`, 'a..b', '-a']

/** Mostly the one that is stored: of what is read or removed. */
function apiVersionOf(dice: Dice, { apiVersion }: KindInfo): string {
  return dice.chance(0.1) ? apiVersion.replace(/[^/]+$/, OTHER_VERSION) : apiVersion
}

export function kindOf(object: { readonly kind: string }): KindInfo {
  return conformanceKinds.find(({ kind }) => kind === object.kind)!
}

function refOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject) {
  return namespace === undefined ? { apiVersion, kind, name } : { apiVersion, kind, namespace, name }
}

function conditionsOf(dice: Dice, pair: Seen | undefined) {
  if (pair === undefined || dice.chance(0.5)) return () => ({})
  const [withUid, withVersion] = [dice.chance(0.5), dice.chance(0.6)]
  return (side: Side) => ({
    ...(withUid ? { uid: pair[side].metadata.uid } : {}),
    ...(withVersion ? { resourceVersion: pair[side].metadata.resourceVersion } : {}),
  })
}

function randomParts(dice: Dice): { spec?: unknown; status?: unknown } {
  return {
    ...(dice.chance(0.7) ? { spec: randomFields(dice) } : {}),
    ...(dice.chance(0.4) ? { status: randomFields(dice) } : {}),
  }
}

function randomMetadata(dice: Dice, owner: OwnerReference): object {
  const labels = [
    { a: '1' },
    { a: '2', b: '' },
    {},
    null,
    { 'x y': '1' },
    { a: 'x y' },
    { a: null },
    { a: 1 },
    { a: true },
    [],
    'x',
    { 'example.com/a': 'b' },
    { 'Example.com/a': 'b' },
    { '/a': 'b' },
    { 'a/': 'b' },
    { a: 'ü' },
    { a: '-' },
  ]
  const annotations = [
    { note: 'ü' },
    {},
    { note: null },
    null,
    { note: 5 },
    { NOTE: 'x' },
    { 'Example.com/Note': 'x' },
    { 'a b': 'x' },
    { '': 'x' },
    [],
  ]
  const finalizers = [
    ['example.com/f'],
    ['example.com/f', 'example.com/g'],
    [],
    null,
    ['no slash'],
    ['example.com/f', 'example.com/f'],
    ['plain'],
    [''],
    [null],
    [5],
    'x',
    {},
    ['example.com/f', null],
    ['EXAMPLE.com/f'],
    ['orphan', 'foregroundDeletion'],
  ]
  const second = { ...owner, controller: true }
  const { uid: _1, ...withoutUid } = owner
  const owners = [
    [owner],
    [owner, owner],
    [second],
    [owner, second],
    [second, { ...second, name: 'b' }],
    [{ ...owner, uid: '' }],
    [],
    null,
    {},
    [null],
    ['x'],
    [withoutUid],
    [{ ...owner, controller: 'yes' }],
    [{ ...owner, controller: null }],
    [{ ...owner, apiVersion: 'a/b/c' }],
    [{ ...owner, kind: '' }],
    [{ ...owner, name: 5 }],
    [{ ...owner, blockOwnerDeletion: true }],
    [{ ...owner, blockOwnerDeletion: false }, owner],
    [{ ...owner, apiVersion: 'v1', kind: 'Event' }],
    [{ ...owner, apiVersion: 'x/' }],
    [{ ...owner, apiVersion: '/v1', name: null }],
  ]
  return {
    ...(dice.chance(0.5) ? { labels: dice.pick(labels) } : {}),
    ...(dice.chance(0.3) ? { annotations: dice.pick(annotations) } : {}),
    ...(dice.chance(0.4) ? { finalizers: dice.pick(finalizers) } : {}),
    ...(dice.chance(0.2) ? { ownerReferences: dice.pick(owners) } : {}),
    ...(dice.chance(0.05) ? { generation: 77 } : {}),
    ...(dice.chance(0.05) ? { creationTimestamp: '1999-01-01T00:00:00Z' } : {}),
    ...(dice.chance(0.02) ? { deletionGracePeriodSeconds: 5 } : {}),
  }
}

/** A merge patch, which may say for which object it is. */
function randomMerge(
  dice: Dice,
  { owner }: Scene,
  pair: Seen | undefined,
  { subresource, isConditional }: WriteOptions & { readonly isConditional: boolean },
) {
  const parts = randomParts(dice)
  const changes = dice.chance(0.5) ? randomMetadata(dice, owner) : undefined
  const server = subresource === undefined && !isConditional && dice.chance(0.1) ? dice.pick(OF_THE_SERVER) : {}
  const [withUid, withVersion] = pair === undefined ? [false, false] : [dice.chance(0.05), dice.chance(0.1)]
  const identity =
    subresource === undefined && dice.chance(0.05)
      ? dice.pick([
          { apiVersion: null },
          { kind: null },
          { kind: 'Other' },
          { apiVersion: 'other.example/v1' },
          { apiVersion: 5 },
          { metadata: { name: null } },
          { metadata: { name: 'other' } },
          { metadata: { namespace: null } },
          { metadata: { namespace: 'other' } },
          { metadata: { namespace: '' } },
          { metadata: { name: '' } },
          { metadata: {} },
        ])
      : {}
  return (side: Side): { readonly [key: string]: unknown } => ({
    ...parts,
    ...identity,
    ...(changes === undefined && !withUid && !withVersion && Object.keys(server).length === 0
      ? {}
      : {
          metadata: {
            ...(identity as { metadata?: object }).metadata,
            ...changes,
            ...server,
            ...(withUid ? { uid: pair![side].metadata.uid } : {}),
            ...(withVersion ? { resourceVersion: pair![side].metadata.resourceVersion } : {}),
          },
        }),
  })
}

const BELOW_SPEC = [
  '/spec/x',
  '/spec/list',
  '/spec/list/0',
  '/spec/list/1',
  '/spec/list/-',
  '/spec/list/-1',
  '/spec/list/-2',
  '/spec/list/01',
  '/spec/list/+1',
  '/spec/list/1e0',
  '/spec/list/x',
  '/spec/list/',
  '/spec/y/z',
  '/spec/a~1b',
  '/spec/',
  '/status/x',
  '/status/list/0',
]
const BELOW_METADATA = [
  'labels',
  'labels/a',
  'annotations',
  'annotations/note',
  'finalizers',
  'finalizers/0',
  'finalizers/-',
  'finalizers/-1',
  'ownerReferences',
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
]
const ROOTS = ['', '/', '/metadata', '/spec', '/status', '/kind', '/apiVersion']

/**
 * What is written to metadata may not be what it should be, and neither may `spec` become anything
 * but an object: that is the schema's.
 */
function randomOperation(dice: Dice, { subresource }: WriteOptions): JsonPatch[number] {
  if (dice.chance(0.1)) return { op: dice.pick(['add', 'replace']), path: '/spec', value: randomFields(dice) }
  // with a status the server still looks whether all of it can be read
  const isMetadata = subresource === undefined && dice.chance(0.3)
  const pointer = () => (isMetadata ? `/metadata/${dice.pick(BELOW_METADATA)}` : dice.pick(BELOW_SPEC))
  const path = dice.chance(0.03) ? dice.pick(ROOTS) : pointer()
  const op = dice.pick(['add', 'add', 'replace', 'test', 'remove', 'move', 'copy'] as const)
  // of these roots only an object is what the schema takes
  const isRoot = ROOTS.includes(path)
  switch (isRoot && op !== 'remove' && op !== 'test' ? 'remove' : op) {
    case 'remove':
      return { op: 'remove', path }
    case 'move':
    case 'copy':
      return { op: op as 'move', from: dice.chance(0.1) ? dice.pick(BELOW_SPEC) : pointer(), path }
    default:
      return {
        op: op as 'add',
        path,
        value: isMetadata ? dice.pick(['1', { a: '1' }, ['example.com/f'], null, 7, '', []]) : randomValue(dice, 2),
      }
  }
}

function randomQuery(dice: Dice, { apiVersion, kind, namespaced }: KindInfo, { namespaces }: Scene): ListQuery {
  const labels = [{ a: '1' }, { a: '' }, { b: '' }, { a: '2', b: '' }, { 'a b': '1' }, { a: 'x y' }]
  const expressions: LabelRequirement[] = [
    { key: 'a', operator: 'In', values: ['1', '2'] },
    { key: 'a', operator: 'In', values: [''] },
    { key: 'a', operator: 'NotIn', values: ['1'] },
    { key: 'a', operator: 'NotIn', values: [''] },
    { key: 'b', operator: 'Exists' },
    { key: 'b', operator: 'DoesNotExist' },
    { key: 'a b', operator: 'Exists' },
  ]
  const fields: { [path: string]: string }[] = [
    { 'metadata.name': 'a-n' },
    { 'metadata.name': '' },
    { 'metadata.name': 'a,b=\\c' },
    { 'metadata.namespace': namespaces[1] },
    { 'spec.color': 'red' },
    { 'spec.color': '' },
    { 'spec.x': '1' },
  ]
  // regions of other runs are none of ours
  const where = namespaced ? { namespace: dice.pick(namespaces) } : {}
  const own = namespaced
    ? dice.chance(0.4)
      ? { fields: dice.pick(fields) }
      : {}
    : { fields: { 'metadata.name': `${dice.pick(['a', 'b'])}-${namespaces[0]}` } }
  return {
    apiVersion,
    kind,
    ...where,
    ...own,
    ...(dice.chance(0.4) ? { labels: dice.pick(labels) } : {}),
    ...(dice.chance(0.3) ? { labelExpressions: [dice.pick(expressions), dice.pick(expressions)] } : {}),
  }
}
