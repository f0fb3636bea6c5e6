import type { Kind } from '../../../errors/check.js'
import { CONFIG } from '../../whereabouts/tasks/request.js'

/** A check of an argument that is a network. */
export const NETWORK: Kind = ['open', { config: CONFIG, pools: ['list', 'text'] }]
