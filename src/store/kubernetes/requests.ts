import { utf8Length } from '../../bytes/utf8.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { STORE_OBJECT_TOO_LARGE } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import type { JsonObject } from '../rules/json.js'
import type { StoreErrorCode, StoreResult } from '../store.js'
import { type Answer, isSuccess, readAnswer, readObject } from './answers.js'
import type { KubernetesClient, KubernetesRequest } from './client.js'
import { type Asked, failureOf, failureOfError, lost, notDone } from './failures.js'

export interface Asking {
  readonly method: KubernetesRequest['method']
  readonly path: string
  readonly contentType?: string | undefined
  readonly body?: unknown
}

/** What a request is about, without its size. */
export type About = Omit<Asked, 'sizeBytes' | 'maxBytes'>

/** Sends requests and reads their answers, with all that can be wrong with them. */
export class Requests {
  readonly #client: KubernetesClient
  readonly #maxBytes: number

  constructor(client: KubernetesClient, maxBytes: number) {
    this.#client = client
    this.#maxBytes = maxBytes
  }

  /** An answer that says that it was done. */
  async send(
    { method, path, contentType = 'application/json', body }: Asking,
    about: About,
  ): Promise<Result<Answer, StoreErrorCode>> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const sizeBytes = text === undefined ? 0 : utf8Length(text)
    const asked = { ...about, sizeBytes, maxBytes: this.#maxBytes }
    if (sizeBytes > this.#maxBytes) {
      return failWith(STORE_OBJECT_TOO_LARGE, { object: about.shown, sizeBytes, maxBytes: this.#maxBytes })
    }
    const headers = { accept: 'application/json', ...(text === undefined ? {} : { 'content-type': contentType }) }
    try {
      const answer = readAnswer(await this.#client.request({ method, path, headers, body: text }))
      return isSuccess(answer) ? ok(answer) : { ok: false, failure: failureOf(answer, asked) }
    } catch (error) {
      return { ok: false, failure: failureOfError(error, asked) }
    }
  }

  /** What an answer says, as far as it can be read. */
  async read<T>(asking: Asking, about: About, read: (json: JsonObject | undefined) => T | undefined): StoreResult<T> {
    const answer = await this.send(asking, about)
    if (!answer.ok) return answer
    const value = read(answer.value.json)
    return value === undefined ? this.#unreadable(answer.value, about) : ok(value)
  }

  /** The object that an answer consists of. */
  object(asking: Asking, about: About): StoreResult<KubeObject> {
    return this.read(asking, about, (json) => readObject(json))
  }

  /** The answer says that it was done, but cannot be read. */
  #unreadable({ httpStatus, json }: Answer, about: About): Result<never, StoreErrorCode> {
    const asked = { ...about, sizeBytes: 0, maxBytes: this.#maxBytes }
    const found = json === undefined ? 'no JSON object' : 'not what was asked for'
    return { ok: false, failure: lost(asked, `the answer has status ${httpStatus}, and is ${found}`) }
  }
}

/** The failure of what was not even asked for. */
export function unasked(about: About, problem: string): Result<never, StoreErrorCode> {
  return { ok: false, failure: notDone({ ...about, sizeBytes: 0, maxBytes: 0 }, problem) }
}
