import type { SqliteDatabase } from 'ipam-kit/store/sqlite'

/** What statements give, by how they begin: rows, or an error that they end with. */
export type Answers = { readonly [start: string]: readonly object[] | Error }

/** What is read. */
export const DOCUMENT = JSON.stringify({
  apiVersion: 'ipam.example.com/v1',
  kind: 'Pool',
  metadata: { namespace: 'ns', name: 'a', uid: 'uid' },
  spec: { size: 1 },
})

const USUAL: Answers = {
  'pragma journal_mode': [{ journal_mode: 'wal' }],
  'pragma database_list': [{ seq: 0, name: 'main', file: '/somewhere/ipam.db' }],
  'pragma synchronous': [{ synchronous: 2 }],
  'select cast(revision as text) as revision, document': [{ document: DOCUMENT, revision: '7' }],
  insert: [{ name: 'a' }],
  'update "ipam_kit_documents"': [{ name: 'a' }],
  'delete from "ipam_kit_documents"': [{ name: 'a' }],
  'update "ipam_kit_head"': [{ revision: '8', forgets: '0' }],
}

/** A database that says what it is told to, and keeps what it was asked. */
export class FakeDatabase implements SqliteDatabase {
  readonly asked: string[] = []
  readonly answers: Answers

  constructor(answers: Answers = {}) {
    this.answers = { ...USUAL, ...answers }
  }

  exec(sql: string): void {
    this.#answer(sql)
  }

  prepare(sql: string) {
    return {
      run: () => this.#answer(sql),
      get: () => this.#answer(sql)[0],
      all: () => [...this.#answer(sql)],
    }
  }

  #answer(sql: string): readonly object[] {
    this.asked.push(sql)
    // of those that fit the longest says most
    const starts = Object.keys(this.answers).filter((start) => sql.startsWith(start))
    const [start] = starts.sort((a, b) => b.length - a.length)
    const answer = start === undefined ? [] : this.answers[start]!
    if (answer instanceof Error) throw answer
    return answer
  }

  /** What has been asked since the last time, in a word each. */
  words(): string[] {
    return this.asked.splice(0).map((sql) => sql.split(' ')[0]!)
  }
}
