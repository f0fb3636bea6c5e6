import type * as Prefix from '../../../cidr/nouns/prefix.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import { IPBlock } from '../../../crd/ipam-kit/ip-block.js'
import { handleName, IPHandle } from '../../../crd/ipam-kit/ip-handle.js'
import { type ObjectRef, refOf } from '../../../crd/meta/object.js'
import { type Change, type Effect, patchObject, type Step } from '../../../plan/index.js'
import { ParsedBlock } from '../block/parsed-block.js'
import type { Known, KnownBlocks, PlacedRow } from './known-blocks.js'
import type { BlockOwner } from './request.js'
import type { TaskView } from './task-view.js'

/** The blocks of each interface of an owner. */
export type HandleBlocks = ReadonlyMap<string, ReadonlySet<string>>

/**
 * The handle of an owner, as one task reads it. The task reads it anew, with each block that it
 * names, whatever was known before: an earlier attempt may have written the name and died with a
 * row for the block in flight.
 */
export class OwnerHandle {
  readonly ref: ObjectRef
  readonly #uid: string
  #known: Known<IPHandle>
  readonly #view: TaskView
  /**
   * The blocks without writes of others in flight: this task has added them to the handle, or has
   * read them.
   */
  readonly #own = new Set<string>()
  /** The blocks that the handle did not name before this task. */
  readonly #fresh = new Set<string>()
  /** The blocks in the handle by the last write of this task. */
  #written: ReadonlySet<string> = new Set<string>()
  #sent:
    | {
        readonly blocks: ReadonlySet<string>
        readonly before: ReadonlySet<string>
        readonly conflicts: number
        readonly version: string | undefined
      }
    | undefined

  /**
   * @param view the objects that the task was shown
   * @throws IpamError `INVALID_ARGUMENT`
   */
  constructor(uid: string, view: TaskView) {
    const { apiVersion, kind } = IPHandle.info
    this.ref = { apiVersion, kind, name: handleName(uid) }
    this.#uid = uid
    this.#view = view
  }

  observe(change: Change): void {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    if (!IPHandle.is(ref) || ref.name !== this.ref.name) return
    if (change.kind === 'absent') {
      this.#known = 'absent'
      return
    }
    const read = IPHandle.safeParse(change.object)
    if (!read.ok) this.#known = { unreadable: read.failure.message }
    else if (read.value.spec.uid !== this.#uid) this.#known = { unreadable: `${ref.name} is of another owner` }
    else this.#known = read.value
  }

  /**
   * Reads the result of the last write: it succeeded if the handle has changed since and nothing
   * met a conflict.
   */
  review(conflicts: number): void {
    const sent = this.#sent
    if (sent === undefined) return
    this.#sent = undefined
    const version = this.#object?.metadata.resourceVersion
    const isDone = sent.conflicts === conflicts && version !== undefined && sent.version !== version
    // an unconfirmed write may still happen, in place of what was written before
    this.#written = isDone ? sent.blocks : new Set()
    if (!isDone) return
    for (const block of sent.blocks) {
      if (!sent.before.has(block)) this.#fresh.add(block)
      this.#own.add(block)
    }
  }

  /** A step that reads the handle. */
  get reading(): Extract<Step, { kind: 'get' }> {
    return { kind: 'get', refs: [this.ref], why: 'to find the blocks of the owner' }
  }

  /** Whether the handle was read. */
  get isKnown(): boolean {
    return this.#known !== undefined
  }

  /** Whether the handle exists and can be read. */
  get isThere(): boolean {
    return this.#object !== undefined
  }

  /** Why the handle cannot be used. */
  get problem(): string | undefined {
    return typeof this.#known === 'object' && 'unreadable' in this.#known ? this.#known.unreadable : undefined
  }

  /** The names of the interfaces in the handle. */
  get interfaces(): readonly string[] {
    return Object.keys(this.#object?.spec.blocks ?? {})
  }

  /** Whether this task has added a block to the stored handle: no earlier write can remove it. */
  isOwn(block: string): boolean {
    return this.#written.has(block)
  }

  /**
   * The blocks of an interface that have to stay in the handle: blocks with a row of it, of any
   * pool, and blocks that cannot be read.
   */
  blocksWith(interfaceName: string, known: KnownBlocks): Set<string> {
    const rows = known.rowsOf(this.#uid).filter(({ entry }) => isOf(entry, interfaceName))
    const withRows = new Set(rows.map(({ parsed }) => parsed.name))
    return new Set(
      this.#blocksOf(interfaceName).filter((name) => withRows.has(name) || isUnreadable(known.block(name))),
    )
  }

  /** A block that the handle names for one of some interfaces and that cannot be read. */
  unreadable(interfaces: readonly string[], known: KnownBlocks): string | undefined {
    for (const name of interfaces.flatMap((each) => this.#blocksOf(each))) {
      const parsed = known.block(name)
      if (isUnreadable(parsed)) return parsed.unreadable
    }
    return undefined
  }

  /** The blocks of some interfaces that the task was not shown yet. */
  unread(interfaces: readonly string[]): readonly ObjectRef[] {
    const names = interfaces.flatMap((name) => this.#left(name))
    return this.#view.unseen(IPBlock.info, names)
  }

  /**
   * The blocks of some interfaces in which an earlier attempt may still write a row of the owner.
   * Each is returned once: the task has to deal with it.
   */
  takeInFlight(interfaces: readonly string[], known: KnownBlocks): readonly ParsedBlock[] {
    const rows = known.rowsOf(this.#uid)
    const inFlight: ParsedBlock[] = []
    for (const name of interfaces) {
      for (const block of this.#left(name)) {
        const parsed = known.block(block)
        if (!(parsed instanceof ParsedBlock)) continue
        this.#own.add(block)
        if (!rows.some((place) => place.parsed === parsed && isOf(place.entry, name))) inFlight.push(parsed)
      }
    }
    return inFlight
  }

  /** Blocks of a domain that an earlier attempt may still create. */
  places(interfaceName: string, domain: string): readonly Prefix.Prefix[] {
    return this.#blocksOf(interfaceName).flatMap((name) => {
      if (this.#fresh.has(name)) return []
      const place = parseBlockName(name)
      return place?.domain === domain ? [place.prefix] : []
    })
  }

  /**
   * Writes the blocks of interfaces to the handle.
   *
   * @param isFence also if the handle says so already: then writes for its present version can no
   * longer succeed
   * @returns nothing if no write is necessary
   */
  write(
    wanted: HandleBlocks,
    owner: BlockOwner,
    { conflicts, isFence = false }: { readonly conflicts: number; readonly isFence?: boolean },
  ): (Effect & { readonly why: string }) | undefined {
    const object = this.#object
    const before = object?.spec.blocks ?? {}
    const patch = new Map<string, readonly string[] | null>()
    for (const [name, blocks] of wanted) {
      const old = Object.hasOwn(before, name) ? (before[name] as readonly string[]) : []
      if (old.length === blocks.size && old.every((block) => blocks.has(block))) continue
      patch.set(name, blocks.size === 0 ? null : [...blocks].sort())
    }
    if (patch.size === 0 && !isFence) return undefined
    const blocks = new Set([...wanted.values()].flatMap((each) => [...each]))
    this.#sent = {
      blocks,
      before: new Set(Object.values(before).flat()),
      conflicts,
      version: object?.metadata.resourceVersion,
    }
    if (object === undefined) return this.#make(Object.fromEntries(patch), owner)
    const rest = [...Object.keys(before), ...patch.keys()].filter((name) => patch.get(name) !== null)
    const { uid, resourceVersion } = object.metadata
    if (rest.length === 0 && !isFence && uid !== undefined) {
      return {
        kind: 'delete',
        ref: this.ref,
        if: { uid, resourceVersion },
        why: `${object.spec.owner} has no rows any more`,
      }
    }
    const sequence = (object.spec.sequence ?? 0) + 1
    const spec = { sequence, blocks: Object.fromEntries(patch) }
    return patchObject(object, { spec }, `where the rows of ${object.spec.owner} are`)
  }

  #make(blocks: object, { uid, name, kind }: BlockOwner): Effect & { readonly why: string } {
    const { apiVersion, kind: handleKind } = IPHandle.info
    const isPod = kind === undefined || kind === 'Pod'
    const object = {
      apiVersion,
      kind: handleKind,
      metadata: { name: this.ref.name },
      spec: { owner: name, uid, ...(isPod ? {} : { kind }), blocks },
    }
    return { kind: 'create', object, why: `where the rows of ${name} are` }
  }

  get #object(): IPHandle | undefined {
    const known = this.#known
    return known === undefined || known === 'absent' || 'unreadable' in known ? undefined : known
  }

  #blocksOf(interfaceName: string): readonly string[] {
    const blocks = this.#object?.spec.blocks ?? {}
    return Object.hasOwn(blocks, interfaceName) ? (blocks[interfaceName] as readonly string[]) : []
  }

  /** Blocks that earlier attempts have added. */
  #left(interfaceName: string): readonly string[] {
    return this.#blocksOf(interfaceName).filter((name) => !this.#own.has(name))
  }
}

/** The name of an interface in a handle. */
export function interfaceKey(name: string | undefined): string {
  return name ?? ''
}

function isUnreadable(parsed: Known<ParsedBlock>): parsed is { readonly unreadable: string } {
  return typeof parsed === 'object' && 'unreadable' in parsed
}

function isOf({ row }: PlacedRow['entry'], interfaceName: string): boolean {
  return interfaceKey(row.interface) === interfaceName
}
