import type { StoreCapabilities } from '../../store/store.js'
import type { Bench } from './harness.js'

/** What is done to see whether a rule holds. */
export type Body = (bench: Bench) => Promise<void>

/** Rules by their names. With the name of a capability a rule is void for a store that has it. */
export type Rules = { readonly [name: string]: Body | { readonly unless: keyof StoreCapabilities; readonly run: Body } }
