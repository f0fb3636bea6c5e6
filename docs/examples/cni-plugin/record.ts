import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AttachmentRecord } from 'ipam-kit/provider/whereabouts'

/** The containers that this Node has added. */
export interface AttachmentStore {
  /** Before a row is written, so that each row has its record. */
  add(attachment: AttachmentRecord): void
  remove(attachment: Pick<AttachmentRecord, 'network' | 'containerId' | 'ifname'>): void
  /** Those of one network. */
  of(network: string): readonly AttachmentRecord[]
}

/** Keeps one file for each attachment in a folder that outlives the process. */
export function attachmentFolder(folder: string): AttachmentStore {
  const fileOf = ({ network, containerId, ifname }: Pick<AttachmentRecord, 'network' | 'containerId' | 'ifname'>) => {
    const digest = createHash('sha256').update([network, containerId, ifname].join('\n')).digest('hex')
    return join(folder, `${digest}.json`)
  }
  return {
    add(attachment) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const file = fileOf(attachment)
      const part = `${file}.${process.pid}`
      writeFileSync(part, JSON.stringify(attachment), { mode: 0o600 })
      renameSync(part, file)
    },
    remove(attachment) {
      rmSync(fileOf(attachment), { force: true })
    },
    of(network) {
      return namesIn(folder)
        .filter((name) => name.endsWith('.json'))
        .flatMap((name) => readRecord(join(folder, name)))
        .filter((record) => record.network === network)
    },
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ENOENT') return []
    throw error
  }
}

/** One that another process has just removed, or that cannot be read, frees nothing. */
function readRecord(file: string): readonly AttachmentRecord[] {
  try {
    const { network, containerId, ifname, addedMs, hasClaim } = JSON.parse(
      readFileSync(file, 'utf8'),
    ) as Partial<AttachmentRecord>
    const isWhole = [network, containerId, ifname].every((part) => typeof part === 'string') && Number.isFinite(addedMs)
    const known = typeof hasClaim === 'boolean' ? { hasClaim } : {}
    return isWhole ? [{ network, containerId, ifname, addedMs, ...known } as AttachmentRecord] : []
  } catch {
    return []
  }
}
